"""Whether the loss of a step depends on a variable; without a dependency, the variable gets no gradient."""

from __future__ import annotations

from functools import partial
from typing import TypeGuard

import libcst as cst

from migrate.source.flow import Computed, Constant, Holder, Member, Result, Unknown, Value
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import computed_from, seen_values, symbol_of
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.facts.calls.callers import last_name
from migrate.source.tensorflow.facts.optimizers.training_model import Step, method_of

#: Functions that gradients do not pass through.
CUTS = {
    "argmax",
    "argmin",
    "constant",
    "equal",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "math.argmax",
    "math.argmin",
    "not_equal",
    "placeholder",
    "rank",
    "shape",
    "size",
    "stop_gradient",
}
#: Functions that pass gradients to their first argument only; the others are ids.
READS = {"gather", "nn.embedding_lookup"}
#: Expressions that compute a value from their operands.
OPERATORS = cst.AugAssign | cst.BinaryOperation | cst.UnaryOperation | cst.BooleanOperation | cst.Comparison
#: Methods that return input data of the program.
INPUTS = {"get_next"}


def may_train(file: File, step: Step, calls: set[int]) -> bool:
    """False if no loss of `step` can depend on any of these calls, which are lookups or creations of variables."""
    return any(_depends(file, loss, calls) for loss in _losses(file, step))


def _losses(file: File, step: Step) -> list[cst.BaseExpression]:
    """Return the expressions that the step differentiates."""
    if step.is_minimize:
        return [step.arguments["loss"].value]
    taken = [call for call in step.sources if _is_compute(call)]
    if len(taken) < len(step.sources):
        taken += [call for call, _ in file.calls("gradients")]
    return [call.args[0].value for call in taken if call.args]


def _is_compute(call: cst.BaseExpression) -> TypeGuard[cst.Call]:
    return isinstance(call, cst.Call) and method_of(call) == "compute_gradients"


def _depends(file: File, loss: cst.BaseExpression, calls: set[int]) -> bool:
    """True if a loss is, or may be, computed from one of the calls so that gradients can reach it."""
    return any(id(one) in calls or _is_open(file, one) for one in reached(loss, partial(_behind, file)))


def _is_open(file: File, node: cst.BaseExpression) -> bool:
    """True for a value of unknown origin: it may come from one of the calls."""
    return any(_is_unknown(value) for value in seen_values(file, node))


def _is_unknown(value: Value) -> bool:
    """True for a value that may depend on any variable, since it comes from unanalysed code."""
    if isinstance(value, Result) and isinstance(value.node, cst.Call):
        return symbol_of(value) is None and last_name(value.node.func) not in INPUTS
    if isinstance(value, Member):
        return _is_unknown(value.base)
    if isinstance(value, Unknown):
        return not isinstance(value.node, OPERATORS)
    return not isinstance(value, Constant | Computed | Holder) and symbol_of(value) is None


def _behind(file: File, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the expressions to which `node` passes gradients."""
    name = file.names.of(node.func) if isinstance(node, cst.Call) else None
    if isinstance(node, cst.Comparison) or name in CUTS or name in {"get_variable", "Variable"}:
        return []
    found = computed_from(file, node)
    plain = isinstance(node, cst.Call) and not any(arg.keyword or arg.star for arg in node.args)
    return found[:1] if plain and name in READS else found
