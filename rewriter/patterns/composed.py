"""Sparse updates composed of several ops: gradient descent and Adam of `tf.compat.v1.train`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rewriter.facts import ASSIGNMENTS, Update
from rewriter.graph.view import GraphView, Tensor
from rewriter.patterns.branches import source
from rewriter.patterns.duplicates import before_summing
from rewriter.patterns.matching import Match, Mismatch, Node, match, node

_SCATTERED = {
    "ResourceScatterAdd": node("Mul", node("Neg", "values"), "rate"),
    "ResourceScatterSub": node("Mul", "values", "rate"),
    "ScatterAdd": node("Mul", node("Neg", "values"), "rate"),
    "ScatterSub": node("Mul", "values", "rate"),
}
_READ = "ReadVariableOp|ScatterAdd"
_ADAM = node(
    "RealDiv",
    node("Mul", "rate", node(_READ, label="m"), label="scaled"),
    node("AddV2|Add", node("Sqrt", node(_READ, label="v"), label="root"), "epsilon", label="divisor"),
    label="change",
)
_FIRST = node("Mul", "values", node("Sub", "one", "beta"))
_SECOND = node("Mul", node("Mul", "values", "values"), node("Sub", "one", "beta"))
_DECAY = node("Mul", "moment", "beta")

VariableOf = Callable[[Tensor], str]


def descent_update(view: GraphView, op: str, rank: int) -> Update | Mismatch:
    """Return the update that a scatter of `-rate * gradient` (or a subtraction of `rate * gradient`) performs.

    `rank` is that of the variable, and so that of a gradient with a row for each id.
    """
    _, indices, change = view.inputs(op)
    matched = match(view, change.op, _SCATTERED[view.type(op)])
    if isinstance(matched, Mismatch):
        return matched
    if view.shape(matched.tensors["rate"]).rank not in (0, None):
        return Mismatch(matched.tensors["rate"].op, "it is not a scalar learning rate")
    if view.shape(matched.tensors["values"]).rank not in (rank, None):
        return Mismatch(matched.tensors["values"].op, "it is not a gradient with a row for each id")
    values, indices = before_summing(view, matched.tensors["values"], indices)
    return Update("sgd", values, indices, (matched.tensors["rate"], 0.0), (), (), (op,))


def adam_update(
    view: GraphView, op: str, variable_of: VariableOf, start_of: Callable[[str], float]
) -> Update | Mismatch:
    """Return the update that `variable -= rate * m / (sqrt(v) + epsilon)` performs; m and v are Adam's moments."""
    matched = match(view, view.inputs(op)[1].op, _ADAM)
    if isinstance(matched, Mismatch):
        return matched
    first = _moment(view, matched.ops["m"], _FIRST)
    second = _moment(view, matched.ops["v"], _SECOND)
    if isinstance(first, Mismatch) or isinstance(second, Mismatch):
        return first if isinstance(first, Mismatch) else second  # type: ignore[return-value]
    if first.added.tensors["values"] != second.added.tensors["values"]:
        return Mismatch(op, "its two moments are computed from different gradients")
    moments = (first, second)
    values, indices = before_summing(view, first.added.tensors["values"], view.inputs(first.scatter)[1])
    slots = tuple(variable_of(view.inputs(one.scatter)[0]) for one in moments)
    betas = (one.added.tensors["beta"] for one in moments)
    hyper = (matched.tensors["rate"], *betas, matched.tensors["epsilon"])
    writes = dict.fromkeys((op, matched.ops["m"], matched.ops["v"], *(one.scatter for one in moments)))
    computed = (matched.ops[label] for label in ("scaled", "root", "divisor", "change"))
    inner = (*computed, *(decay for one in moments for decay in one.decay))
    starts = tuple(map(start_of, slots))
    return Update("adam", values, indices, hyper, starts, slots, tuple(writes), inner=inner)


@dataclass(frozen=True)
class _Moment:
    """How a step moves a moment: the scatter into it, what that adds, and the ops that decay the moment before."""

    scatter: str
    added: Match
    decay: tuple[str, ...]


def _moment(view: GraphView, read: str, pattern: Node) -> _Moment | Mismatch:
    """Return the scatter into a moment that `read` waits for, or is, and how the moment decays before it."""
    scatters = [op for op in (read, *view.controls(read)) if view.type(op) in ("ResourceScatterAdd", "ScatterAdd")]
    if not scatters:
        return Mismatch(read, "no scatter into the moment runs before it")
    matched = match(view, view.inputs(scatters[0])[2].op, pattern)
    if isinstance(matched, Mismatch):
        return matched
    decays = [op for op in view.controls(scatters[0]) if view.type(op) in ASSIGNMENTS]
    own = [op for op in decays if _is_decay(view, op, view.inputs(scatters[0])[0], matched.tensors["beta"])]
    if not own:
        return Mismatch(scatters[0], "no multiplication of the moment by beta runs before it")
    return _Moment(scatters[0], matched, tuple(one for op in own for one in (op, view.inputs(op)[1].op)))


def _is_decay(view: GraphView, op: str, moment: Tensor, beta: Tensor) -> bool:
    """Whether an assignment multiplies the moment by beta."""
    expected = match(view, view.inputs(op)[1].op, _DECAY)
    if isinstance(expected, Mismatch) or expected.tensors["beta"] != beta:
        return False
    return len({source(view, one) for one in (view.inputs(op)[0], expected.tensors["moment"], moment)}) == 1
