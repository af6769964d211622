"""The origin of ids: a dataset, a placeholder, or unknown."""

from __future__ import annotations

from functools import partial

import libcst as cst

from migrate.source.flow import Computed, Constant, Holder, Unknown, Value
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import computed_from, root_of, seen_values, symbol_of
from migrate.source.tensorflow.base.visited import reached

DATASET, FED, UNKNOWN = "dataset", "placeholder", "unknown"
#: Expressions that compute a value from their operands.
_OPERATORS = cst.AugAssign | cst.BinaryOperation | cst.UnaryOperation | cst.BooleanOperation | cst.Comparison
PLACEHOLDERS = {"placeholder", "placeholder_with_default", "sparse_placeholder"}


def origins(file: File, node: cst.BaseExpression) -> set[str]:
    """Return the origins of everything that `node` is computed from; empty for constants."""
    return set().union(*(_told(file, one) for one in reached(node, partial(_behind, file))))


def _told(file: File, node: cst.BaseExpression) -> set[str]:
    """Return the origins that the expression itself shows, without its operands."""
    if isinstance(node, cst.Call) and _end(file, node):
        return {_end(file, node)}
    return {_of_value(file, root_of(value)) for value in seen_values(file, node)} - {""}


def _end(file: File, call: cst.Call) -> str:
    """Return the origin of the result of a call; empty if it computes the result from other values."""
    if file.names.of(call.func) in PLACEHOLDERS:
        return FED
    return DATASET if isinstance(call.func, cst.Attribute) and call.func.attr.value == "get_next" else ""


def _of_value(file: File, value: Value) -> str:
    if isinstance(value, Unknown) and not isinstance(value.node, _OPERATORS):
        return DATASET if isinstance(value.node, cst.Param) and _is_features(file, value.node) else UNKNOWN
    known = isinstance(value, Unknown | Constant | Computed | Holder) or symbol_of(value) is not None
    return "" if known else UNKNOWN


def _behind(file: File, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the operands of an expression; for a method call, the receiver as well."""
    if not isinstance(node, cst.Call):
        return computed_from(file, node)
    receiver = [node.func.value] if isinstance(node.func, cst.Attribute) and file.names.of(node.func) is None else []
    return [] if _end(file, node) else computed_from(file, node) + receiver


def _is_features(file: File, parameter: cst.Param) -> bool:
    """True for the `features` or `labels` parameter of an Estimator's model function."""
    function = file.tree.parent(file.tree.parent(parameter) or parameter)
    if not isinstance(function, cst.FunctionDef):
        return False
    names = {one.name.value for one in function.params.params}
    return {"features", "mode"} <= names and parameter.name.value in {"features", "labels"}
