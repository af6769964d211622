"""Whether a container stays as it was created, and the one expression that defines a name or an attribute."""

from __future__ import annotations

import libcst as cst

from migrate.source.flow.escapes import READING
from migrate.source.flow.program import RENAMED, REPLACED
from migrate.source.flow.queries import ValueFlow
from migrate.source.flow.values import Holder, Member, Symbol, Unknown, Value

#: Methods of lists and dicts that do not modify them, in addition to `READING`.
_READS = READING | {"copy", "count", "get", "index", "items", "iteritems", "itervalues", "keys", "values", "union"}


def is_unchanged(flow: ValueFlow, value: Value) -> bool:
    """True if nothing modifies a container after its creation."""
    if isinstance(value.node, cst.Tuple):
        return True
    mentions = flow.mentions(value)
    return not flow.may_be_changed_unseen(value) and all(only_reads_entries(flow, one) for one in mentions)


def only_reads_entries(flow: ValueFlow, mention: cst.BaseExpression) -> bool:
    """True if this mention of a container does not modify it."""
    tree = flow.home(mention)
    of_python = any(isinstance(one, Holder) and one.kind in {"list", "dict"} for one in flow.values(mention))
    around = tree.parent(mention)
    if isinstance(around, cst.Attribute) and around.value is mention:
        call = tree.parent(around)
        called = of_python or (isinstance(call, cst.Call) and call.func is around)
        return around.attr.value in _READS if called else not tree.is_target(around)
    if isinstance(around, cst.Subscript) and around.value is mention:
        return not tree.is_target(around)
    return not (isinstance(around, cst.AugAssign) and around.target is mention)


def stores(flow: ValueFlow, node: cst.Attribute) -> list[cst.Attribute]:
    """Return the assignment targets that may set the attribute that `node` reads."""
    attributes = [(tree, one) for tree in flow.trees for one in tree.attributes.get(node.attr.value, ())]
    own = set(flow.values(node.value))
    return [one for tree, one in attributes if tree.is_target(one) and _may_be(flow.values(one.value), own)]


def _may_be(values: list[Value], own: set[Value]) -> bool:
    return any(value in own or isinstance(value, Unknown) for value in values)


def as_written(flow: ValueFlow, node: cst.BaseExpression) -> cst.List | cst.Tuple | None:
    """Return the list or tuple display that an expression evaluates to, if its contents never change; else None."""
    values = flow.values(node)
    value = values[0] if len(values) == 1 else None
    if not isinstance(value, Holder) or not isinstance(value.node, (cst.List, cst.Tuple)) or value.part is not None:
        return None
    return value.node if is_unchanged(flow, value) else None


def assigned(flow: ValueFlow, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the expression assigned to the name or attribute that `node` reads; None if there are several or none.

    Parameters, loop variables and unpacked names have no such expression. Assignments by unanalysed code are ignored; a
    caller for whom they matter has to check for them.
    """
    expressions = {_assigned(flow, value, node) for value in flow.values(node) if not is_from_unseen(value)}
    return expressions.pop() if len(expressions) == 1 else None


def _assigned(flow: ValueFlow, value: Value, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the place closest to `node`, on the path of a value, that is an expression but not a target."""
    for place in flow.path(value, node)[-2::-1]:
        if not isinstance(place, cst.BaseExpression):
            return None
        tree = flow.home(place)
        around = tree.parent(place)
        if isinstance(around, cst.Param) or _is_walked(place, around):
            return None
        if not tree.is_target(place):
            return place
    # The path of a value that a class body binds is not recorded.
    source = (
        value.node if isinstance(node, cst.Attribute) and not isinstance(value, (Member, Symbol, Unknown)) else None
    )
    return source if isinstance(source, cst.BaseExpression) and source is not node and flow.knows(source) else None


def is_from_unseen(value: Value) -> bool:
    """True for a value that stands for what unanalysed code may have assigned."""
    return isinstance(value, Unknown) and value.reason in {RENAMED, REPLACED}


def _is_walked(place: cst.CSTNode, around: cst.CSTNode | None) -> bool:
    """True for an iterable of a loop or an unpacked expression: only its entries flow on."""
    looped = isinstance(around, (cst.For, cst.CompFor)) and around.iter is place
    return looped or isinstance(around, cst.StarredElement) or (isinstance(around, cst.Arg) and bool(around.star))
