"""The single expression that defines a name or an attribute, if there is only one."""

from __future__ import annotations

import libcst as cst

from migrate.source.flow.names.reflection import is_target
from migrate.source.flow.program import RENAMED, REPLACED
from migrate.source.flow.queries import ValueFlow
from migrate.source.flow.values import Member, Symbol, Unknown, Value
from migrate.source.syntax.tree import Tree


def given(flow: ValueFlow, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the expression assigned to the name or attribute that `node` reads; None if there are several or none.

    Parameters, loop variables and unpacked names have no such expression. Assignments by unanalysed code are ignored; a
    caller for whom they matter has to check for them.
    """
    found = {_given(flow, value, node) for value in flow.values(node) if not is_from_unseen(value)}
    return found.pop() if len(found) == 1 else None


def _given(flow: ValueFlow, value: Value, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the place closest to `node`, on the path of a value, that is an expression but not a target."""
    for place in flow.path(value, node)[-2::-1]:
        if not isinstance(place, cst.BaseExpression):
            return None
        tree = flow.home(place)
        around = tree.parent(place)
        if isinstance(around, cst.Param) or _is_walked(place, around):
            return None
        if not _is_bound(tree, place, around):
            return place
    # The path of a value that a class body binds is not recorded.
    made = value.node if isinstance(node, cst.Attribute) and not isinstance(value, Member | Symbol | Unknown) else None
    return made if isinstance(made, cst.BaseExpression) and made is not node and flow.knows(made) else None


def is_from_unseen(value: Value) -> bool:
    """True for a value that stands for what unanalysed code may have assigned."""
    return isinstance(value, Unknown) and value.reason in {RENAMED, REPLACED}


def _is_walked(place: cst.CSTNode, around: cst.CSTNode | None) -> bool:
    """True for an iterable of a loop or an unpacked expression: only its entries flow on."""
    looped = isinstance(around, cst.For | cst.CompFor) and around.iter is place
    return looped or isinstance(around, cst.StarredElement) or (isinstance(around, cst.Arg) and bool(around.star))


def _is_bound(tree: Tree, place: cst.CSTNode, around: cst.CSTNode | None) -> bool:
    """True for the target of any kind of assignment."""
    return is_target(tree, place) or (isinstance(around, cst.NamedExpr) and around.target is place)
