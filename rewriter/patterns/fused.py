"""Sparse updates that are a single op: Adagrad, Momentum, RMSProp, FTRL and Adadelta of `tf.compat.v1.train`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rewriter.facts import Refusal, Update
from rewriter.graph.view import GraphView, Tensor
from rewriter.patterns.duplicates import UNIQUE, before_summing

__all__ = ["FUSED", "fused_update"]

Hyper = int | float | str


@dataclass(frozen=True)
class _Fused:
    """Input positions of an op. Each of `hyper` is an input position, a constant, or the name of a bool attribute."""

    rule: str
    slots: tuple[int, ...]
    values: int
    hyper: tuple[Hyper, ...]

    @property
    def indices(self) -> int:
        return self.values + 1


_OPS = {
    "SparseApplyAdagrad": _Fused("adagrad", (1,), 3, (2, 0.0)),
    "SparseApplyAdagradV2": _Fused("adagrad", (1,), 4, (2, 3)),
    "SparseApplyMomentum": _Fused("momentum", (1,), 3, (2, 5, "use_nesterov")),
    "SparseApplyRMSProp": _Fused("rmsprop", (1, 2), 7, (3, 4, 5, 6)),
    "SparseApplyCenteredRMSProp": _Fused("rmsprop_centered", (2, 3, 1), 8, (4, 5, 6, 7)),
    "SparseApplyFtrl": _Fused("ftrl", (1, 2), 3, (5, 6, 7, 0.0, 8, 0.0)),
    "SparseApplyFtrlV2": _Fused("ftrl", (1, 2), 3, (5, 6, 7, 8, 9, 0.0)),
    "SparseApplyAdadelta": _Fused("adadelta", (1, 2), 6, (3, 4, 5)),
    "SparseApplyProximalAdagrad": _Fused("proximal_adagrad", (1,), 5, (2, 3, 4)),
    "SparseApplyProximalGradientDescent": _Fused("proximal_sgd", (), 4, (1, 2, 3)),
    "SparseApplyAdagradDA": _Fused("adagrad_da", (1, 2), 3, (5, 6, 7, 8)),
    "SparseApplyKerasMomentum": _Fused("keras_momentum_rows", (1,), 3, (2, 5, "use_nesterov")),
}
#: Op types of sparse updates, on resource and ref variables.
FUSED = {prefix + name: op for name, op in _OPS.items() for prefix in ("", "Resource")}


def fused_update(
    view: GraphView, op: str, table: str, variable_of: Callable[[Tensor], str], start_of: Callable[[str], float]
) -> Update | Refusal:
    """Return the update that a fused sparse step of `table` performs, with its slots and their initial values."""
    form, inputs = FUSED[view.type(op)], view.inputs(op)
    if form.rule == "adagrad" and not _flag(view, op, "update_slots", True):
        return Refusal(table, "its Adagrad step does not update the accumulator", (table, op))
    if view.type(inputs[form.indices].op) not in UNIQUE:
        reason = "may get an id twice and then applies one gradient after the other, while a table applies their sum"
        return Refusal(table, f"its step `{op}` {reason}", (table, op))
    values, indices = before_summing(view, inputs[form.values], inputs[form.indices])
    slots = tuple(variable_of(inputs[number]) for number in form.slots)
    hyper = tuple(_hyper(view, op, inputs, given) for given in form.hyper)
    return Update(form.rule, values, indices, hyper, tuple(map(start_of, slots)), slots, (op,))


def _hyper(view: GraphView, op: str, inputs: tuple[Tensor, ...], given: Hyper) -> Tensor | float:
    if isinstance(given, str):
        return float(_flag(view, op, given, False))
    return inputs[given] if isinstance(given, int) else given


def _flag(view: GraphView, op: str, name: str, default: bool) -> bool:
    return bool(view.attribute(op, name).b) if name in view.nodes[op].attr else default
