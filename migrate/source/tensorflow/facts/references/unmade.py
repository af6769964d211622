"""Variables that no run makes: `tf.Variable(param[0])` where `param` is None at all calls, since None has no items."""

from __future__ import annotations

import libcst as cst

from migrate.source.flow import is_none
from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of


def always_none(file: File, call: cst.Call) -> cst.BaseExpression | None:
    """Return the expression, None at all calls, of which an argument takes an item; None if the call may succeed."""
    return once(file, ("always none", call), lambda: _always_none(file, call))


def _always_none(file: File, call: cst.Call) -> cst.BaseExpression | None:
    for arg in call.args:
        node = arg.value  # what is evaluated in any case: not the arms of a condition, nor a lambda
        while isinstance(node, cst.Call | cst.Subscript | cst.Attribute):
            if isinstance(node, cst.Subscript) and _is_none(file, node.value):
                return node.value
            node = node.value if not isinstance(node, cst.Call) else node.args[0].value if node.args else node.func
    return None


def _is_none(file: File, node: cst.BaseExpression) -> bool:
    values = flow_of(file).values(node)
    return bool(values) and all(is_none(value) for value in values)
