"""Whether the contents of a list, a dict or an object stay as they were at its creation."""

from __future__ import annotations

import libcst as cst

from migrate.source.flow.escapes import READING
from migrate.source.flow.names.reflection import is_target
from migrate.source.flow.queries import ValueFlow
from migrate.source.flow.values import Holder, Unknown, Value

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
        return around.attr.value in _READS if called else not is_target(tree, around)
    if isinstance(around, cst.Subscript) and around.value is mention:
        return not is_target(tree, around)
    return not (isinstance(around, cst.AugAssign) and around.target is mention)


def stores(flow: ValueFlow, node: cst.Attribute) -> list[cst.Attribute]:
    """Return the assignment targets that may set the attribute that `node` reads."""
    attributes = [(tree, one) for tree in flow.trees for one in tree.attributes.get(node.attr.value, ())]
    own = set(flow.values(node.value))
    return [one for tree, one in attributes if is_target(tree, one) and _may_be(flow.values(one.value), own)]


def _may_be(values: list[Value], own: set[Value]) -> bool:
    return any(value in own or isinstance(value, Unknown) for value in values)


def as_written(flow: ValueFlow, node: cst.BaseExpression) -> cst.List | cst.Tuple | None:
    """Return the list or tuple display that an expression evaluates to, if its contents never change; else None."""
    values = flow.values(node)
    value = values[0] if len(values) == 1 else None
    if not isinstance(value, Holder) or not isinstance(value.node, cst.List | cst.Tuple) or value.part is not None:
        return None
    return value.node if is_unchanged(flow, value) else None
