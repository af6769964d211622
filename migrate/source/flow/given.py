"""Which expression gives a name or an attribute its value, where only one does."""

from __future__ import annotations

import libcst as cst

from migrate.source.flow.names.reflection import is_target
from migrate.source.flow.program import RENAMED, REPLACED
from migrate.source.flow.queries import ValueFlow
from migrate.source.flow.values import Member, Symbol, Unknown, Value
from migrate.source.syntax.tree import Tree


def given(flow: ValueFlow, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return what is assigned to the name or attribute at `node` where it is read; None where several may be, or none.

    Parameters, names of loops and what is unpacked are given no expression of their own. What code that is not seen
    may put there is left out: who asks has to judge such code for itself.
    """
    found = {_given(flow, value, node) for value in flow.values(node) if not is_from_unseen(value)}
    return found.pop() if len(found) == 1 else None


def _given(flow: ValueFlow, value: Value, node: cst.BaseExpression) -> cst.BaseExpression | None:
    for place in flow.path(value, node)[-2::-1]:
        if not isinstance(place, cst.BaseExpression):
            return None
        tree = flow.home(place)
        around = tree.parent(place)
        if isinstance(around, cst.Param) or _is_walked(place, around):
            return None
        if not _is_bound(tree, place, around):
            return place
    # What the body of a class binds comes without its way.
    made = value.node if isinstance(node, cst.Attribute) and not isinstance(value, Member | Symbol | Unknown) else None
    return made if isinstance(made, cst.BaseExpression) and made is not node and flow.knows(made) else None


def is_from_unseen(value: Value) -> bool:
    """True for what code that is not seen may put in the place of what is."""
    return isinstance(value, Unknown) and value.reason in {RENAMED, REPLACED}


def _is_walked(place: cst.CSTNode, around: cst.CSTNode | None) -> bool:
    """True for what a loop goes over, or is unpacked: only its entries go on."""
    looped = isinstance(around, cst.For | cst.CompFor) and around.iter is place
    return looped or isinstance(around, cst.StarredElement) or (isinstance(around, cst.Arg) and bool(around.star))


def _is_bound(tree: Tree, place: cst.CSTNode, around: cst.CSTNode | None) -> bool:
    """True for a target, whatever binds it."""
    return is_target(tree, place) or (isinstance(around, cst.NamedExpr) and around.target is place)
