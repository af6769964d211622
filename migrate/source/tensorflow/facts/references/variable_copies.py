"""`tf.identity` of a variable whose rows are looked up: the table itself stands in its place."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.tensorflow.base.model import Adaptation, CodeChange
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.calls.sinks import SINKS, Meaning

RULE = "tf-table-use"
LOOKUPS = {"nn.embedding_lookup", "gather"}
#: What orders the ops that are made under it, or gives those of one type another gradient.
ORDERED = ("control_dependencies", "gradient_override_map")


def copy_of(file: File, node: cst.BaseExpression) -> cst.Call | None:
    """Return `tf.identity(node)` where it is assigned or looked up at once; None where it does more than that.

    A name would make it a tensor that others may fetch, and `control_dependencies` say when it is read.
    """
    arg = file.tree.parent(node)
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
    sink = SINKS.get(file.names.of(call.func) or "") if isinstance(call, cst.Call) else None
    if not isinstance(call, cst.Call) or sink is None or sink.meaning is not Meaning.COPIED or len(call.args) != 1:
        return None
    if not isinstance(node, cst.Name | cst.Attribute | cst.Subscript) or not sink.takes(call, call.args[0]):
        return None
    around = file.tree.parent(call)
    lookup = file.tree.parent(around) if isinstance(around, cst.Arg) else None
    inline = isinstance(lookup, cst.Call) and file.names.of(lookup.func) in LOOKUPS and file.target.lookup is None
    assigned = isinstance(around, cst.Assign) and around.value is call
    return call if (assigned or inline) and not _waits(file, node) else None


def _waits(file: File, node: cst.BaseExpression) -> bool:
    """True where something may say when the copy is read, or what its gradient is: what calls this may stand there."""
    trees = [part.tree for part in file.program(node)]
    return any(name in tree.attributes or name in tree.names for tree in trees for name in ORDERED)


def follow_copies(file: File, copies: list[cst.Call]) -> Iterator[Adaptation]:
    """Yield what becomes of copies of a table: the lookup reads the table."""
    for call in copies:
        source = file.tree.source(call.args[0].value)
        text = " ".join(file.tree.source(call).split())
        change = CodeChange(call, lambda *_, source=source: source)
        yield Adaptation(call, RULE, f"`{text}` becomes `{source}`, of which rows are looked up", changes=(change,))
