"""Reads the distribution of a variable's initial rows from its initializer, so that rows of new ids follow it."""

from __future__ import annotations

import math
from dataclasses import replace

import tensorflow as tf

from rewriter.facts import NewRows
from rewriter.graph.view import GraphView, Tensor
from rewriter.patterns.matching import Match, Mismatch, match, node

_FORMS = {"RandomNormal": "normal", "TruncatedNormal": "truncated_normal", "RandomUniform": "uniform"}
#: Ops that draw from a standard normal or from [0, 1), with the runtime's name for the distribution.
_DRAWS = {"RandomStandardNormal": "normal", "TruncatedNormal": "truncated_normal", "RandomUniform": "uniform"} | {
    f"Stateless{form}{version}": kind for form, kind in _FORMS.items() for version in ("", "V2")
}
_UNKNOWN = {"Const": "it is a constant array of rows", "RestoreV2": "it reads a checkpoint"}
# Ops that only pass values on, perhaps a part of them, or in another order.
_SAME = ("Identity", "StopGradient", "Reshape", "EnsureShape", "CheckNumerics", "Slice", "Transpose")
_ORTHOGONAL = node("Mul", node("Qr", label="qr"), node("Sign"))
_UNIT = "RandomUniform|StatelessRandomUniform|StatelessRandomUniformV2"
_UNIFORM = node("AddV2|Add", node("Mul", node(_UNIT, label="draw"), "width"), "low")
_WIDTH = node("Sub", "high", "low")
# The `seed` attribute that TensorFlow uses for an op with a seed in a graph without one.
_NO_GRAPH_SEED = 87654321


def new_rows(view: GraphView, initial: Tensor) -> NewRows:
    """Return how rows of ids beyond the variable are initialized: as `initial` is, or zero with the reason."""
    distribution = _distribution(view, initial)
    if isinstance(distribution, NewRows):
        if math.isfinite(distribution.a) and math.isfinite(distribution.b):
            return distribution
        distribution = Mismatch(initial.op, f"it is {distribution}")
    return NewRows(
        "constant", 0.0, 0.0, assumption=f"`{distribution.op}` has no known distribution: {distribution.reason}"
    )


def _distribution(view: GraphView, tensor: Tensor) -> NewRows | Mismatch:
    """Return the distribution of the single values of a tensor, including scaling and shifts on the way."""
    kind, inputs = view.type(tensor.op), view.inputs(tensor.op)
    if kind in _DRAWS:
        return NewRows(_DRAWS[kind], 0.0, 1.0, _seed(view, tensor.op))
    number = view.number(tensor)
    if number is not None:
        return NewRows("constant", float(number), 0.0)
    if kind in _SAME:
        return _distribution(view, inputs[0])
    if kind == "Mul" and (orthogonal := _orthogonal(view, tensor.op)):
        return orthogonal
    if kind in ("AddV2", "Add") and (uniform := _uniform(view, tensor.op)):
        return uniform
    if kind in ("Mul", "AddV2", "Add", "Sub", "RealDiv"):
        return _changed(view, tensor.op, kind)
    return Mismatch(tensor.op, _UNKNOWN.get(kind, f"it is {kind}"))


def _uniform(view: GraphView, op: str) -> NewRows | None:
    """Return a uniform distribution with its limits as given in user code, without rounding by a subtraction."""
    matched = match(view, op, _UNIFORM)
    width = match(view, matched.tensors["width"].op, _WIDTH) if isinstance(matched, Match) else matched
    if isinstance(matched, Mismatch) or isinstance(width, Mismatch):
        return None
    low, high = view.number(matched.tensors["low"]), view.number(width.tensors["high"])
    if low is None or high is None or view.number(width.tensors["low"]) != low:
        return None
    return NewRows("uniform", float(low), float(high), _seed(view, matched.ops["draw"]))


def _orthogonal(view: GraphView, op: str) -> NewRows | None:
    """Return the distribution of single values of a random orthogonal matrix, which has no rows beyond its size."""
    matched = match(view, op, _ORTHOGONAL)
    if isinstance(matched, Mismatch):
        return None
    shape = view.shape(Tensor(matched.ops["qr"]))
    if not shape.is_fully_defined():
        return None
    note = f"`{matched.ops['qr']}` makes orthogonal rows; new rows have the same magnitude but are not orthogonal"
    return NewRows("normal", 0.0, float(max(shape)) ** -0.5, assumption=note)


def _changed(view: GraphView, op: str, kind: str) -> NewRows | Mismatch:
    """Scale or shift the distribution of one input by the constant in the other."""
    left, right = view.inputs(op)
    number, drawn = view.number(right), left
    if number is None and kind != "RealDiv":
        number, drawn = view.number(left), right
    if number is None:
        return Mismatch(op, "neither of its inputs is a constant number")
    distribution = _distribution(view, drawn)
    if isinstance(distribution, Mismatch):
        return distribution
    if kind == "Mul":
        return _scaled(distribution, float(number))
    if kind == "RealDiv":
        return _scaled(distribution, 1.0 / float(number)) if number else Mismatch(op, "it divides by zero")
    if kind == "Sub":
        return (
            _shifted(distribution, -float(number))
            if drawn == left
            else _shifted(_scaled(distribution, -1.0), float(number))
        )
    return _shifted(distribution, float(number))


def _scaled(distribution: NewRows, factor: float) -> NewRows:
    if distribution.kind == "uniform":
        low, high = sorted((distribution.a * factor, distribution.b * factor))
        return replace(distribution, a=low, b=high)
    return replace(distribution, a=distribution.a * factor, b=distribution.b * abs(factor))


def _shifted(distribution: NewRows, by: float) -> NewRows:
    return replace(
        distribution, a=distribution.a + by, b=distribution.b + by if distribution.kind == "uniform" else distribution.b
    )


def _seed(view: GraphView, op: str) -> int | None:
    """Return the seed that user code or Keras gave to a random op; None if it depends on the graph's seed."""
    if not view.type(op).startswith("Stateless"):
        is_own = int(view.attribute(op, "seed").i) == _NO_GRAPH_SEED
        return int(view.attribute(op, "seed2").i) if is_own else None
    for source in view.ancestors(view.inputs(op)[1:2]):
        if view.type(source) == "Const":
            values = tf.make_ndarray(view.nodes[source].attr["value"].tensor).ravel()
            if values.dtype.kind == "i" and values.size:
                return int(values[0])
    return None
