"""What reads and writes the rows of one rank, without an exchange: `tf.nn.embedding_lookup`, `sok.assign`, `v.size`."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from migrate.source.files.edits import Edit
from migrate.source.tensorflow.base.arguments import bind
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part
from migrate.source.tensorflow.sok.symbols import LOOKUP, sok_calls
from migrate.source.tensorflow.sok.tables import Kind, Tables
from migrate.source.tensorflow.sok.tf_spelling import tensorflow
from migrate.source.tensorflow.sok.variables import Made

_FUNCTIONS = {
    "assign": ("var", "indices", "values"),
    "export": ("var",),
    "sparse_read_and_evict": ("var", "indices", "name"),
}
#: What reads a static variable as the matrix of this rank's rows.
_OPERATIONS = cst.BinaryOperation | cst.UnaryOperation
_TAKES_MATRIX = ("numpy", "eval")
_PLAIN = cst.Name | cst.Attribute | cst.Subscript


def read_transfers(draft: Draft, tables: Tables, made: Sequence[Made]) -> None:
    """Replace calls of SOK that read and write rows of this rank."""
    for call, name in sok_calls(draft.file):
        if name not in _FUNCTIONS:
            continue
        given = draft.arguments(call, _FUNCTIONS[name], LOOKUP)
        if given is None:
            continue
        table = given["var"].value if "var" in given else call
        text = draft.tree.source(table)
        grown = _all_made_by(tables, made, table, "DynamicVariable")
        if not isinstance(table, _PLAIN) or not (grown or (name == "assign" and _is_table(tables, table))):
            draft.block(call, LOOKUP, "unknown-table", shown=" ".join(text.split())[:60])
        elif name == "assign" and len(given) == len(_FUNCTIONS[name]):
            keys, rows = (draft.tree.source(given[one].value) for one in ("indices", "values"))
            _write(draft, call, text, f"{text}.import_rows({keys}, {rows})", "import_rows")
        elif name == "export":
            _write(draft, call, text, f"{text}.snapshot()[:2]", "snapshot")
        elif "indices" in given and name == "sparse_read_and_evict":
            rows, tf = _looked_up(draft, text, given["indices"].value), tensorflow(draft)
            nothing = f"{tf}.zeros([0], {tf}.int64), {tf}.zeros([0, {text}.dim])"
            _write(draft, call, text, f"({rows}, {nothing})", "local_lookup")


def read_local_use(draft: Draft, tables: Tables, node: cst.BaseExpression, made: Sequence[Made]) -> bool:
    """Replace a use that reads rows of this rank; False for any other."""
    tree, around = draft.tree, draft.tree.parent(node)
    if tables.kind(node) is not Kind.TABLE:
        return False
    if _all_made_by(tables, made, node, "Variable"):
        return _matrix(draft, node, around)
    if not _all_made_by(tables, made, node, "DynamicVariable"):
        return False
    text, outer = tree.source(node), tree.parent(around) if around is not None else None
    if isinstance(around, cst.Attribute) and around.attr.value == "size" and isinstance(node, _PLAIN):
        draft.replace(around, f"{tensorflow(draft)}.stack([{text}.size(), {text}.dim])")
        return True
    if isinstance(around, cst.Attribute) and around.attr.value == "sparse_read" and isinstance(outer, cst.Call):
        return _lookup(draft, outer, text, bind(outer, ("indices", "name")), "indices")
    first = isinstance(outer, cst.Call) and bool(outer.args) and outer.args[0] is around
    if first and isinstance(outer, cst.Call) and draft.file.names.of(outer.func) == "nn.embedding_lookup":
        return _lookup(draft, outer, text, bind(outer, ("params", "ids")), "ids")
    return False


def _lookup(draft: Draft, call: cst.Call, text: str, given: dict[str, cst.Arg] | None, ids: str) -> bool:
    if given is None or ids not in given:
        return False
    _write(draft, call, text, _looked_up(draft, text, given[ids].value), "local_lookup")
    return True


def _matrix(draft: Draft, node: cst.BaseExpression, around: cst.CSTNode | None) -> bool:
    """Replace a static variable that is read as a tensor, of the rows of this rank by key."""
    reads = isinstance(around, cst.Attribute) and around.value is node and around.attr.value in _TAKES_MATRIX
    if not reads and not isinstance(around, _OPERATIONS):
        return False
    text = draft.tree.source(node)
    start, end = draft.tree.outer_span(node)
    call = draft.tree.parent(around) if around is not None else None
    session = call.args[0] if isinstance(call, cst.Call) and call.func is around and call.args else None
    if session is not None and session.keyword is None:  # of a variable it is the first argument, of a tensor not
        place = draft.tree.span(session)[0]
        draft.edits.append(Edit(place, place, "session="))
    draft.edits.append(Edit(start, end, f"{draft.function('local_rows')}({text})"))
    message = f"the matrix `{' '.join(text.split())[:60]}` of this rank's rows becomes `local_rows`"
    draft.parts.append(Part(node, LOOKUP, "lookup", text, message, "local_rows(...)"))
    return True


def _looked_up(draft: Draft, text: str, ids: cst.BaseExpression) -> str:
    """Return a lookup on this rank, where SOK makes rows of any ids, also of those that another rank holds."""
    return f"{draft.function('local_lookup')}({text}, {draft.tree.source(ids)}, foreign=True)"


def _write(draft: Draft, call: cst.Call, label: str, text: str, function: str) -> None:
    shown = " ".join(draft.tree.source(call.func).split())[:60]
    draft.replace(call, text)
    message = f"`{shown}`, which concerns this rank's rows alone, becomes `{function}`"
    draft.parts.append(Part(call, LOOKUP, "lookup", label, message, f"{function}(...)"))


def _all_made_by(tables: Tables, made: Sequence[Made], node: cst.CSTNode, name: str) -> bool:
    """True for one table, whichever it may be, that this function of SOK made."""
    if not isinstance(node, cst.BaseExpression) or not _is_table(tables, node):
        return False
    values = {id(value.node) for value in tables.results(node)}
    found = [one.name for one in made if id(one.call) in values]
    return bool(found) and set(found) == {name}


def _is_table(tables: Tables, node: cst.CSTNode) -> bool:
    return isinstance(node, cst.BaseExpression) and tables.kind(node) is Kind.TABLE
