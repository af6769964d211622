"""Sparse updates composed of several ops: gradient descent and Adam of `tf.compat.v1.train`."""

from __future__ import annotations

from collections.abc import Callable

from rewriter.facts import Update
from rewriter.graph.view import GraphView, Tensor
from rewriter.patterns.duplicates import before_summing
from rewriter.patterns.matching import Match, Mismatch, Node, match, node

__all__ = ["adam_update", "descent_update"]

_SCATTERED = {
    "ResourceScatterAdd": node("Mul", node("Neg", "values"), "rate"),
    "ResourceScatterSub": node("Mul", "values", "rate"),
    "ScatterAdd": node("Mul", node("Neg", "values"), "rate"),
    "ScatterSub": node("Mul", "values", "rate"),
}
_READ = "ReadVariableOp|ScatterAdd"
_ADAM = node(
    "RealDiv",
    node("Mul", "rate", node(_READ, label="m")),
    node("AddV2|Add", node("Sqrt", node(_READ, label="v")), "epsilon"),
)
_FIRST = node("Mul", "values", node("Sub", "one", "beta"))
_SECOND = node("Mul", node("Mul", "values", "values"), node("Sub", "one", "beta"))

VariableOf = Callable[[Tensor], str]


def descent_update(view: GraphView, op: str, rank: int) -> Update | Mismatch:
    """Return the update that a scatter of `-rate * gradient` (or a subtraction of `rate * gradient`) performs.

    `rank` is that of the variable, and so that of a gradient with a row for each id.
    """
    _, indices, change = view.inputs(op)
    found = match(view, change.op, _SCATTERED[view.type(op)])
    if isinstance(found, Mismatch):
        return found
    if view.shape(found.tensors["rate"]).rank not in (0, None):
        return Mismatch(found.tensors["rate"].op, "it is not a scalar learning rate", 1)
    if view.shape(found.tensors["values"]).rank not in (rank, None):
        return Mismatch(found.tensors["values"].op, "it is not a gradient with a row for each id", 1)
    values, indices = before_summing(view, found.tensors["values"], indices)
    return Update("sgd", values, indices, (found.tensors["rate"], 0.0), (), (), (op,))


def adam_update(
    view: GraphView, op: str, variable_of: VariableOf, start_of: Callable[[str], float]
) -> Update | Mismatch:
    """Return the update that `variable -= rate * m / (sqrt(v) + epsilon)` performs; m and v are Adam's moments."""
    found = match(view, view.inputs(op)[1].op, _ADAM)
    if isinstance(found, Mismatch):
        return found
    first = _moment(view, found.ops["m"], _FIRST)
    second = _moment(view, found.ops["v"], _SECOND)
    if isinstance(first, Mismatch) or isinstance(second, Mismatch):
        return first if isinstance(first, Mismatch) else second  # type: ignore[return-value]
    (to_m, mean), (to_v, square) = first, second
    if mean.tensors["values"] != square.tensors["values"]:
        return Mismatch(op, "its two moments belong to different gradients", 2)
    values, indices = before_summing(view, mean.tensors["values"], view.inputs(to_m)[1])
    slots = tuple(variable_of(view.inputs(scatter)[0]) for scatter in (to_m, to_v))
    hyper = (found.tensors["rate"], mean.tensors["beta"], square.tensors["beta"], found.tensors["epsilon"])
    writes = dict.fromkeys((op, found.ops["m"], found.ops["v"], to_m, to_v))
    return Update("adam", values, indices, hyper, tuple(map(start_of, slots)), slots, tuple(writes))


def _moment(view: GraphView, read: str, pattern: Node) -> tuple[str, Match] | Mismatch:
    """Return the scatter into a moment that `read` waits for, or is, and the match of what it adds."""
    scatters = [op for op in (read, *view.controls(read)) if view.type(op) in ("ResourceScatterAdd", "ScatterAdd")]
    if not scatters:
        return Mismatch(read, "it is not preceded by a scatter into the moment", 2)
    found = match(view, view.inputs(scatters[0])[2].op, pattern)
    if isinstance(found, Mismatch):
        return found
    decays = [op for op in view.controls(scatters[0]) if view.type(op) in ("AssignVariableOp", "Assign")]
    expected = node("Mul", node("ReadVariableOp|Identity|Switch|Enter"), "beta")
    decayed = [match(view, view.inputs(op)[1].op, expected) for op in decays]
    if not any(isinstance(one, Match) and one.tensors["beta"] == found.tensors["beta"] for one in decayed):
        return Mismatch(scatters[0], "it is not preceded by the moment's decay by beta", 3)
    return scatters[0], found
