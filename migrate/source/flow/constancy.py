"""Whether a list, a dict or an object holds later what it held when it was made."""

from __future__ import annotations

import libcst as cst

from migrate.source.flow.calls import READING
from migrate.source.flow.queries import ValueFlow
from migrate.source.flow.reflection import is_target
from migrate.source.flow.values import Holder

#: Methods of lists and dicts that change nothing, beside those.
_READS = READING | {"copy", "count", "get", "index", "items", "iteritems", "itervalues", "keys", "values", "union"}


def is_unchanged(flow: ValueFlow, value: Holder) -> bool:
    """True when nothing puts anything into a container, or takes something out, once it is made."""
    if isinstance(value.node, cst.Tuple):
        return True
    return not flow.may_be_changed_unseen(value) and all(_reads(flow, one) for one in flow.mentions(value))


def _reads(flow: ValueFlow, mention: cst.BaseExpression) -> bool:
    tree = flow.home(mention)
    around = tree.parent(mention)
    if isinstance(around, cst.Attribute) and around.value is mention:
        return around.attr.value in _READS
    if isinstance(around, cst.Subscript) and around.value is mention:
        return not is_target(tree, around)
    return not (isinstance(around, cst.AugAssign) and around.target is mention)


def as_written(flow: ValueFlow, node: cst.BaseExpression) -> cst.List | cst.Tuple | None:
    """Return the list or tuple, written out, that an expression is, with the same entries; None for any other."""
    if isinstance(node, cst.List | cst.Tuple):
        return node
    values = flow.values(node)
    value = values[0] if len(values) == 1 else None
    if not isinstance(value, Holder) or not isinstance(value.node, cst.List | cst.Tuple) or value.part is not None:
        return None
    return value.node if is_unchanged(flow, value) else None
