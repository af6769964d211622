"""Gradients in a program for SOK: which names may hold them, and where those of static variables go."""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import libcst as cst
import libcst.matchers as m

from migrate.source.frontends.tensorflow.args import bind, literal
from migrate.source.frontends.tensorflow.drafts import Draft
from migrate.source.frontends.tensorflow.reached import reached
from migrate.source.frontends.tensorflow.sok.flow import Flow
from migrate.source.frontends.tensorflow.sok.made import Made
from migrate.source.frontends.tensorflow.sok.symbols import LOOKUP
from migrate.source.frontends.tensorflow.sok.uses import is_update, taken_variables
from migrate.source.frontends.tensorflow.values import builtin, is_target, local_names, scope_of_name
from migrate.source.tree import Tree

#: What gives gradients.
GIVES = {"gradient", "gradients", "compute_gradients"}


def holds_gradients(tree: Tree, node: cst.CSTNode) -> bool:
    """True for an expression that is made of gradients, as far as names tell; those may be IndexedSlices."""
    return _mentions(node, _names(tree))


def _names(tree: Tree) -> set[str]:
    """Return the names and attributes that may hold gradients, by whatever way they get there."""
    if tree not in _KNOWN:
        found: set[str] = set()
        bindings = [*_bindings(tree)]
        while new := {name for names, value in bindings if _mentions(value, found) for name in names} - found:
            found |= new
        _KNOWN[tree] = found
    return _KNOWN[tree]


_KNOWN: WeakKeyDictionary[Tree, set[str]] = WeakKeyDictionary()


def _bindings(tree: Tree) -> list[tuple[set[str], cst.CSTNode]]:
    """Return what is bound in a file: names, and what they are given, by lines, loops, calls and results."""
    found: list[tuple[set[str], cst.CSTNode]] = []
    kinds = m.Assign() | m.AnnAssign() | m.AugAssign() | m.NamedExpr() | m.For() | m.CompFor() | m.Return()
    for node in m.findall(tree.module, kinds):
        match node:
            case cst.Assign():
                found.append((_bound(*(one.target for one in node.targets)), node.value))
            case cst.AnnAssign() if node.value is not None:
                found.append((_bound(node.target), node.value))
            case cst.AugAssign() | cst.NamedExpr():
                found.append((_bound(node.target), node.value))
            case cst.For() | cst.CompFor():
                found.append((_bound(node.target), node.iter))
            case cst.Return() if node.value is not None:
                function = tree.enclosing(node, cst.FunctionDef)
                found.append(({function.name.value} if function is not None else set(), node.value))
    functions = [one for one in m.findall(tree.module, m.FunctionDef()) if isinstance(one, cst.FunctionDef)]
    parameters = {one.name.value: {*_bound(one.params)} for one in functions}
    for call in tree.calls:
        names = set(parameters.get(last_name(call.func), ()))
        if isinstance(call.func, cst.Attribute) and call.func.attr.value in {"append", "extend"}:
            names |= _bound(call.func.value)
        found += [(names, arg.value) for arg in call.args] if names else []
    return found


def _bound(*targets: cst.CSTNode) -> set[str]:
    """Return the names of targets, or of parameters."""
    found: set[str] = set()
    for target in targets:
        if isinstance(target, cst.Attribute):
            found.add(target.attr.value)
        elif isinstance(target, cst.Subscript):
            found |= _bound(target.value)
        elif isinstance(target, cst.Parameters):
            found |= {one.name.value for one in m.findall(target, m.Param()) if isinstance(one, cst.Param)}
        elif isinstance(target, cst.Name):
            found.add(target.value)
        else:
            found |= _bound(*(one for one in target.children if isinstance(one, cst.CSTNode)))
    return found


def _mentions(node: cst.CSTNode, names: set[str]) -> bool:
    spelled = (one.value for one in m.findall(node, m.Name()) if isinstance(one, cst.Name))
    return any(one in names or one in GIVES for one in spelled)


def last_name(node: cst.BaseExpression) -> str:
    """Return the last name of what is called; empty for an expression."""
    return node.attr.value if isinstance(node, cst.Attribute) else node.value if isinstance(node, cst.Name) else ""


def read_gradients(draft: Draft, flow: Flow, made: list[Made]) -> None:
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
        places = None
        if isinstance(sources, cst.List | cst.Tuple) and flow.kind(sources) is None:
            places = {at for at, one in enumerate(sources.elements) if flow.kind(one.value) is not None}
        elif isinstance(sources, cst.List | cst.Tuple) or flow.kind(sources) is not None:
            places = {*range(len(sources.elements))} if isinstance(sources, cst.List | cst.Tuple) else {-1}
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
