"""Lookups whose table is not found: each is reported, with the variables that it may read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from migrate.report.model import Finding, State
from migrate.source.flow import Computed, Result, Value
from migrate.source.tensorflow.base.arguments import by_keyword, last_name
from migrate.source.tensorflow.base.findings import finding, of_line
from migrate.source.tensorflow.base.model import Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.symbols import WORD, is_lookup
from migrate.source.tensorflow.base.value_flow import flow_of, sources, symbol_of
from migrate.source.tensorflow.facts.variables.find_tables import unfollowed
from migrate.source.tensorflow.facts.variables.whole_reads import RULE as ALL_ROWS

#: Lookups that index ordinary tensors more often than variables.
GATHERS = {"gather", "gather_nd"}


def left_alone(file: File, tables: Sequence[Table]) -> Iterator[Finding]:
    """Report the lookups that do not read a known variable of the program."""
    known = {id(node) for table in tables for node in table.references}
    read = {id(lookup.call) for table in tables for lookup in table.lookups}
    apart = [use.node for table in tables for use in table.adaptations if use.rule == ALL_ROWS]
    lost = unfollowed(file, tables)
    for call, name in file.names.calls:
        if not is_lookup(name) or not call.args or id(call) in read:
            continue
        if WORD not in name and name not in GATHERS:
            continue
        first = (by_keyword(call, "params") or call.args[0]).value
        parts = [e.value for e in first.elements] if isinstance(first, (cst.List, cst.Tuple)) else [first]
        if any(id(part) in known for part in parts):
            continue
        whole = _computed_from(file, first)
        if whole is not None and any(file.tree.contains(one, whole) for one in apart):
            continue  # it reads a tensor, as before
        if whole is not None:
            yield _of_whole(file, call, name, first, whole)
        elif _is_layer_weight(file, first):
            yield _of_layer_weight(file, call, name, first)
        else:
            near = _near(file, call, lost, alone=name in GATHERS)
            yield _left_alone(file, call, name, first, near if near and _may_be_variable(file, first) else [])


def _of_whole(
    file: File, call: cst.Call, name: str, first: cst.BaseExpression, whole: cst.Name | cst.Attribute
) -> Finding:
    text = file.tree.one_line(first)
    verb = "is" if len(flow_of(file).values(first)) == 1 else "may be"
    return finding(
        file, call, _rule(name), "lookup", State.UNSUPPORTED,
        f"`{text}` {verb} computed from the whole variable `{file.tree.source(whole)}`; the lookup is left unchanged",
        "this needs every row at every step, which a growing table does not provide",
        "look rows up first and compute with the result, or leave the variable unchanged",
    )  # fmt: skip


def _is_layer_weight(file: File, first: cst.BaseExpression) -> bool:
    """True for a weight that a Keras layer or model makes by `self.add_weight(...)`."""
    funcs = [one.func for one in sources(file, first) if isinstance(one, cst.Call)]
    return any(isinstance(func, cst.Attribute) and func.attr.value in {"add_weight", "add_variable"} for func in funcs)


def _of_layer_weight(file: File, call: cst.Call, name: str, first: cst.BaseExpression) -> Finding:
    return finding(
        file, call, _rule(name), "lookup", State.NOTED,
        f"`{file.tree.source(first)}` is a weight that a layer creates by `add_weight`; the lookup is left unchanged",
        "in a Keras model only `Embedding` layers become tables",
        "use a `tf.keras.layers.Embedding` of the same rows, width and initializer, and call it with the ids",
    )  # fmt: skip


def _computed_from(file: File, first: cst.BaseExpression) -> cst.Name | cst.Attribute | None:
    """Return the reference to a variable whose rows are all used to compute the argument of the lookup."""
    flow = flow_of(file)
    pending, seen = list(flow.values(first)), set[Value]()
    while pending:
        value = pending.pop(0)
        symbol, node = symbol_of(value), value.node
        computed = isinstance(value, Computed) or (symbol is not None and isinstance(value, Result))
        if value in seen or node is None or not computed or is_lookup(symbol) or _makes(file, node):
            continue  # a lookup reads only some rows
        seen.add(value)
        for part in _parts(file, node):
            if _may_be_made(file, part):
                return part
            pending += flow.values(part)
    return None


def _parts(file: File, node: cst.CSTNode) -> Iterator[cst.Name | cst.Attribute]:
    """Yield the names and attributes in an expression, except those in which the expression looks rows up."""
    if isinstance(node, (cst.Name, cst.Attribute)):
        yield node
    elif not isinstance(node, cst.Call) or not is_lookup(file.names.of(node.func)):
        for child in node.children:
            yield from _parts(file, child)


def _may_be_made(file: File, part: cst.Name | cst.Attribute) -> bool:
    values = flow_of(file).values(part)
    return any(isinstance(one, Result) and one.node is not None and _makes(file, one.node) for one in values)


def _makes(file: File, value: cst.CSTNode) -> bool:
    return isinstance(value, cst.Call) and file.names.of(value.func) in {"get_variable", "Variable"}


def _rule(name: str) -> str:
    return "tf-gather" if name in GATHERS else "tf-embedding-lookup"


def _near(file: File, call: cst.Call, lost: Sequence[cst.Call], *, alone: bool) -> list[cst.Call]:
    """Return the variables that a lookup may read: those of its file, else those of files that run with it.

    With `alone`, other files are left out, because a gather more often reads an ordinary tensor.
    """
    own = [one for one in lost if file.tree.module_of(one) is file.tree.module_of(call)]
    return own if own or alone else [one for one in lost if file.tree.related(one, call)]


def _left_alone(file: File, call: cst.Call, name: str, first: cst.BaseExpression, lost: Sequence[cst.Call]) -> Finding:
    source = file.tree.source(first)
    message = f"`{source}` is not known to be a variable of the files read; its lookup is left unchanged"
    reason = action = ""
    if lost:
        line = of_line(file.tree.location(lost[0]), file.tree.location(call))
        reason = f"it may be the variable{line} that is passed on in a way that is not followed"
        if len(lost) > 1:
            reason = f"it may be one of {len(lost)} variables that are passed on in ways that are not followed"
            reason += f", the first{line}" if line else ""
        action = "assign the variable to a name or an attribute, and look rows up by that name"
    return finding(file, call, _rule(name), "lookup", State.OPAQUE if lost else State.NOTED, message, reason, action)


def namesakes(file: File, reported: set[int]) -> Iterator[Finding]:
    """Report calls that have the name of a lookup but are not TensorFlow's, except those `reported` already."""
    for call in file.tree.calls:
        if WORD not in last_name(call.func) or id(call) in reported or file.names.of(call.func) is not None:
            continue
        message = f"`{file.tree.source(call.func)}` is not TensorFlow's; this call is left unchanged"
        reason = "if it reads a table, the lookups inside of it are judged"
        yield finding(file, call, _rule(WORD), "lookup", State.NOTED, message, reason)


def _may_be_variable(file: File, node: cst.BaseExpression, depth: int = 3) -> bool:
    """False for a value that is known to be computed, so that it is no variable."""
    return any(_is_open(file, value, depth) for value in sources(file, node))


def _is_open(file: File, value: cst.BaseExpression, depth: int) -> bool:
    if isinstance(value, cst.Call):
        name = file.names.of(value.func)
        if name is not None:
            return name in {"get_variable", "Variable"}
        imported, _ = file.tree.imported_names(value.func)
        return not imported or file.tree.is_inside(value.func)
    if isinstance(value, cst.Subscript):
        return _may_be_variable(file, value.value, depth - 1) if depth else True
    return isinstance(value, (cst.Name, cst.Attribute, cst.NamedExpr, cst.Dict, cst.List, cst.Tuple))
