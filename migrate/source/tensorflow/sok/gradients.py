"""Gradients in a program for SOK: which values may hold them, and where those of static variables are used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from migrate.source.flow import Member, Unknown, Value
from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.arguments import bind, literal
from migrate.source.tensorflow.base.bindings import builtin, is_target
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.edits.whole_file_draft import Draft
from migrate.source.tensorflow.sok.symbols import LOOKUP
from migrate.source.tensorflow.sok.tables import Tables
from migrate.source.tensorflow.sok.variable_uses import is_update, taken_variables
from migrate.source.tensorflow.sok.variables import Made

#: Functions and methods that return gradients.
GIVES = {"gradient", "gradients", "compute_gradients"}


def holds_gradients(file: File, node: cst.BaseExpression) -> bool:
    """True for an expression that may hold gradients, which may be IndexedSlices."""
    return any(
        isinstance(one, cst.Call) and last_name(one.func) in GIVES for one in reached(node, lambda one: _of(file, one))
    )


def _of(file: File, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the parts of an expression, and the expressions that create its values."""
    flow, found = flow_of(file), [one for one in node.children if isinstance(one, cst.BaseExpression)]
    found += [arg.value for arg in node.args] if isinstance(node, cst.Call) else []
    for value in flow.values(node):
        base = value.base if isinstance(value, Member) else value
        found += [one for one in (value.node, base.node) if isinstance(one, cst.BaseExpression)]
        for entry in flow.entries(value):
            found += [entry.node] if isinstance(entry.node, cst.BaseExpression) else []
    if any(isinstance(value, Unknown) for value in flow.values(node)):
        found += _by_name(file.tree, node)
    return found


def _by_name(tree: Tree, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """Yield the values that are assigned to the text of an expression with unknown values, or returned for it."""
    text, called = tree.source(node), last_name(node.func) if isinstance(node, cst.Call) else ""
    for one in tree.nodes():
        if isinstance(one, cst.Assign) and any(tree.source(target.target) == text for target in one.targets):
            yield one.value
        elif called and isinstance(one, cst.Return) and one.value is not None:
            function = tree.enclosing(one, cst.FunctionDef)
            if function is not None and function.name.value == called:
                yield one.value


def last_name(node: cst.BaseExpression) -> str:
    """Return the last name of a callee; empty for other expressions."""
    return node.attr.value if isinstance(node, cst.Attribute) else node.value if isinstance(node, cst.Name) else ""


def read_gradients(draft: Draft, tables: Tables, made: list[Made]) -> None:
    """Block the file where gradients of static variables are used for anything but an update.

    SOK returns one matrix, summed over all lookups; a table returns the rows of each lookup separately.
    """
    if not any(one.name == "Variable" for one in made):
        return
    for call in draft.tree.calls:
        parameters = taken_variables(last_name(call.func))
        given = bind(call, parameters) if parameters else None
        if given is None or parameters[-1] not in given:
            continue
        sources = given[parameters[-1]].value
        places = {-1} if tables.kind(sources) is not None else None
        if isinstance(sources, cst.List | cst.Tuple):
            places = {at for at, one in enumerate(sources.elements) if tables.kind(one.value) is not None}
            star = [at for at, one in enumerate(sources.elements) if isinstance(one, cst.StarredElement)]
            places = {-1} if star and max(places, default=-1) >= star[0] else places  # starred values: unknown number
        if places and (use := _other_use(draft, tables, call, places)) is not None:
            around = draft.tree.parent(use)
            shown = " ".join(draft.tree.source(around if around is not None else use).split())[:60]
            draft.block(use, LOOKUP, "static-gradients", shown=shown)


def _other_use(draft: Draft, tables: Tables, call: cst.Call, places: set[int]) -> cst.BaseExpression | None:
    """Return a use of gradients other than an update; `places` are those of static variables, -1 for any."""
    whole = tables.results(call)
    if not whole:
        return call
    entries = {value for _, value in tables.flow.where(lambda one: _is_entry(one, whole, places))}
    for use, value in tables.uses_of([*whole, *entries]).items():
        if not _is_taken(draft, use) and not _is_other(tables, use, value, places):
            return use
    return None


def _is_entry(value: Value, whole: Sequence[Value], places: set[int]) -> bool:
    """True for gradients at these places, and for their members."""
    while isinstance(value, Member) and value.name == "[]":
        if value.base in whole:
            return _is_at(value.key, places)
        value = value.base
    return False


def _is_other(tables: Tables, use: cst.BaseExpression, value: Value, places: set[int]) -> bool:
    """True for an entry of other variables, where the call that returns the gradients is not known."""
    if not isinstance(value, Unknown):
        return False
    way = tables.flow.path(value, use)
    while way and isinstance(way[0], cst.Attribute | cst.Subscript) and value in tables.flow.values(way[0].value):
        way = [*tables.flow.path(value, way[0].value), *way]
    found = [at for at in (_place(tables, value, node) for node in way) if at is not None]
    return bool(found) and not _is_at(found[0], places)


def _place(tables: Tables, value: Value, node: cst.CSTNode) -> int | None:
    """Return which entry of `value` a node is: of `x[1]`, or of the name `b` in `a, b = x`; None for anything else."""
    tree = tables.tree
    if isinstance(node, cst.Subscript) and len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index):
        key, taken = literal(node.slice[0].slice.value), node.value
        return key if isinstance(key, int) and value in tables.flow.values(taken) else None
    element = tree.parent(node)
    listed = tree.parent(element) if isinstance(element, cst.Element) else None
    target = tree.parent(listed) if isinstance(listed, cst.Tuple | cst.List) else None
    assign = tree.parent(target) if isinstance(target, cst.AssignTarget) else None
    if not isinstance(listed, cst.Tuple | cst.List) or not isinstance(assign, cst.Assign):
        return None
    before = listed.elements[: next(at for at, one in enumerate(listed.elements) if one is element)]
    starred = any(isinstance(one, cst.StarredElement) for one in before)
    return None if starred or value not in tables.flow.values(assign.value) else len(before)


def _is_at(key: object, places: set[int]) -> bool:
    """True for a key that may be one of these places."""
    return not isinstance(key, int) or key < 0 or -1 in places or key in places


def _is_taken(draft: Draft, use: cst.BaseExpression) -> bool:
    """True for an argument of an update, and where entries are read, which are followed separately."""
    tree, around = draft.tree, draft.tree.parent(use)
    if isinstance(around, cst.Arg):
        call = tree.parent(around)
        known = isinstance(call, cst.Call) and (is_update(call) or builtin(tree, call.func) == "len")
        return known and not around.star
    return isinstance(around, cst.Subscript) and around.value is use and not is_target(tree, around)
