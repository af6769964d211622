"""`tf.identity` of a variable that is looked up: a lookup reads the table directly instead of the copy."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.tensorflow.base.model import Adaptation, CodeChange
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.calls.ordered_scopes import names_ordered_scopes
from migrate.source.tensorflow.facts.calls.sinks import SINKS, Meaning

RULE = "tf-table-use"
LOOKUPS = {"nn.embedding_lookup", "gather"}


def copy_of(file: File, node: cst.BaseExpression) -> cst.Call | None:
    """Return `tf.identity(node)` if it is assigned or looked up directly; None if it has other effects.

    With a `name` it would be a tensor that others may fetch, and `control_dependencies` would determine when it is
    read.
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
    return call if (assigned or inline) and not names_ordered_scopes(file, node) else None


def follow_copies(file: File, copies: list[cst.Call]) -> Iterator[Adaptation]:
    """Yield the adaptations of copies of a table: each becomes the table itself."""
    for call in copies:
        source = file.tree.source(call.args[0].value)
        text = file.tree.one_line(call)
        change = CodeChange(call, lambda *_, source=source: source)
        yield Adaptation(call, RULE, f"`{text}` becomes `{source}`, of which rows are looked up", changes=(change,))
