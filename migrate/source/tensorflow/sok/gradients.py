"""Gradients in a program for SOK: what may hold them, and where those of static variables go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from migrate.source.flow import Member, Unknown
from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.arguments import bind, literal
from migrate.source.tensorflow.base.bindings import builtin, is_target, local_names, scope_of_name
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.edits.whole_file_draft import Draft
from migrate.source.tensorflow.sok.symbols import LOOKUP
from migrate.source.tensorflow.sok.tables import Tables
from migrate.source.tensorflow.sok.variable_uses import is_update, taken_variables
from migrate.source.tensorflow.sok.variables import Made

#: What gives gradients.
GIVES = {"gradient", "gradients", "compute_gradients"}


def holds_gradients(file: File, node: cst.BaseExpression) -> bool:
    """True for an expression that is made of gradients, as far as values tell; those may be IndexedSlices."""
    return any(
        isinstance(one, cst.Call) and last_name(one.func) in GIVES for one in reached(node, lambda one: _of(file, one))
    )


def _of(file: File, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return what an expression is made of: its parts, and what makes its values."""
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
    """Yield what is bound to what reads like an expression of which the values are not known, or returned for it."""
    text, called = tree.source(node), last_name(node.func) if isinstance(node, cst.Call) else ""
    for one in tree.nodes():
        if isinstance(one, cst.Assign) and any(tree.source(target.target) == text for target in one.targets):
            yield one.value
        elif called and isinstance(one, cst.Return) and one.value is not None:
            function = tree.enclosing(one, cst.FunctionDef)
            if function is not None and function.name.value == called:
                yield one.value


def last_name(node: cst.BaseExpression) -> str:
    """Return the last name of what is called; empty for an expression."""
    return node.attr.value if isinstance(node, cst.Attribute) else node.value if isinstance(node, cst.Name) else ""


def read_gradients(draft: Draft, tables: Tables, made: list[Made]) -> None:
    """Stop where gradients of static variables go anywhere but into an update.

    SOK gives one matrix of them, summed over all lookups, and a table the rows of each lookup for itself.
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
            places = {-1} if star and max(places, default=-1) >= star[0] else places  # what a star gives is not counted
        if places and (use := _other_use(draft, call, places)) is not None:
            around = draft.tree.parent(use)
            shown = " ".join(draft.tree.source(around if around is not None else use).split())[:60]
            reason = "SOK sums them over all lookups, a table has the rows of each lookup"
            action = "give the gradients to apply_gradients as they are, or make it a DynamicVariable"
            draft.stop(use, LOOKUP, f"`{shown}` reads gradients of a static variable", reason, action)


class _Use(NamedTuple):
    """Where gradients are mentioned; `places` are those of static variables among them, -1 for any."""

    node: cst.BaseExpression
    places: frozenset[int]


_ANY = frozenset({-1})


def _other_use(draft: Draft, node: cst.BaseExpression, places: set[int]) -> cst.CSTNode | None:
    """Return a use of gradients other than an update; `places` are those of static variables, -1 for any."""
    start = _Use(node, frozenset(places))
    uses = reached(start, lambda use: _after(draft, use) or (), key=lambda use: (id(use.node), use.places))
    return next((use.node for use in uses if _after(draft, use) is None), None)


def _after(draft: Draft, use: _Use) -> list[_Use] | None:
    """Return where gradients go from a use, nowhere from an update; None where they are read."""
    tree, node, around = draft.tree, use.node, draft.tree.parent(use.node)
    match around:
        case cst.Expr():
            return []
        case cst.Comparison() if all(isinstance(one.operator, cst.Is | cst.IsNot) for one in around.comparisons):
            return []
        case cst.Element():
            listed = tree.parent(around)
            known = isinstance(listed, cst.List | cst.Tuple) and not is_target(tree, listed)
            return [_Use(listed, _ANY)] if known and isinstance(listed, cst.List | cst.Tuple) else None
        case cst.Subscript() if around.value is node and len(around.slice) == 1:
            index = around.slice[0].slice
            at = literal(index.value) if isinstance(index, cst.Index) else None
            other = isinstance(at, int) and at >= 0 and -1 not in use.places and at not in use.places
            return [] if other else [_Use(around, _ANY)]
        case cst.Arg():
            call = tree.parent(around)
            if not isinstance(call, cst.Call) or around.star:
                return None
            if is_update(call) or builtin(tree, call.func) == "len":
                return []
            return [_Use(call, _ANY)] if builtin(tree, call.func) == "zip" else None
        case cst.Assign() if len(around.targets) == 1:
            return _reads(draft, around.targets[0].target, use.places)
    return None


def _reads(draft: Draft, target: cst.BaseExpression, places: frozenset[int]) -> list[_Use] | None:
    """Return the reads of what an assignment binds to gradients; None where it is not followed."""
    tree = draft.tree
    if isinstance(target, cst.Tuple | cst.List):
        starred = any(isinstance(one, cst.StarredElement) for one in target.elements)
        own = [one for at, one in enumerate(target.elements) if starred or -1 in places or at in places]
        found = [_reads(draft, one.value, _ANY) for one in own]
        known = [one for one in found if one is not None]
        return [use for one in known for use in one] if len(known) == len(found) else None
    scope = scope_of_name(tree, target) if isinstance(target, cst.Name) else None
    if scope is None or not isinstance(target, cst.Name):
        return None
    return [_Use(one, places) for one in local_names(tree, target.value, scope) if not is_target(tree, one)]
