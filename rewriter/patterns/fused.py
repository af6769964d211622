"""Updates that are a single op: steps of `tf.compat.v1.train` optimizers, by rows or on a dense gradient.

A gradient has all rows if a term over the whole variable is a part of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from rewriter.facts import Refusal, Update
from rewriter.graph.view import GraphView, Tensor
from rewriter.patterns.duplicates import UNIQUE, before_summing
from rewriter.patterns.matching import Mismatch
from rewriter.patterns.whole_table import dense_gradient, only_in

Hyper = int | float | str


@dataclass(frozen=True)
class _Step:
    """Input positions of an op. Each of `hyper` is an input position, a constant, or the name of a bool attribute."""

    rule: str
    slots: tuple[int, ...]
    gradient: int
    hyper: tuple[Hyper, ...]

    def by_rows(self) -> _Step:
        """Return the positions in the sparse op, whose gradient is followed by its indices."""
        hyper = (one + 1 if isinstance(one, int) and one > self.gradient else one for one in self.hyper)
        return _Step(self.rule, self.slots, self.gradient, tuple(hyper))


#: Steps that have a dense and a sparse op, by the end of their names, with the positions in the dense one.
_BOTH = {
    "Adagrad": _Step("adagrad", (1,), 3, (2, 0.0)),
    "AdagradV2": _Step("adagrad", (1,), 4, (2, 3)),
    "Momentum": _Step("momentum", (1,), 3, (2, 4, "use_nesterov")),
    "RMSProp": _Step("rmsprop", (1, 2), 7, (3, 4, 5, 6)),
    "CenteredRMSProp": _Step("rmsprop_centered", (2, 3, 1), 8, (4, 5, 6, 7)),
    "Ftrl": _Step("ftrl", (1, 2), 3, (4, 5, 6, 0.0, 7, 0.0)),
    "FtrlV2": _Step("ftrl", (1, 2), 3, (4, 5, 6, 7, 8, 0.0)),
    "Adadelta": _Step("adadelta", (1, 2), 6, (3, 4, 5)),
    "ProximalAdagrad": _Step("proximal_adagrad", (1,), 5, (2, 3, 4)),
    "ProximalGradientDescent": _Step("proximal_sgd", (), 4, (1, 2, 3)),
    "AdagradDA": _Step("adagrad_da", (1, 2), 3, (4, 5, 6, 7)),
}
_DENSE_ALONE = {
    "GradientDescent": _Step("sgd", (), 2, (1, 0.0)),
    # Its powers are hyperparameters of this form alone.
    "Adam": _Step("lazy_adam", (1, 2), 9, (5, 3, 4, 6, 7, 8)),
}
_SPARSE_ALONE = {"KerasMomentum": _Step("keras_momentum_rows", (1,), 3, (2, 4, "use_nesterov"))}
_PREFIXES = ("", "Resource")  # of ops on ref variables and on resource variables
#: Op types of sparse updates.
FUSED = {
    f"{prefix}SparseApply{name}": step.by_rows()
    for name, step in (_BOTH | _SPARSE_ALONE).items()
    for prefix in _PREFIXES
}
#: Op types of dense updates.
DENSE = {f"{prefix}Apply{name}": step for name, step in (_BOTH | _DENSE_ALONE).items() for prefix in _PREFIXES}


def fused_update(
    view: GraphView, op: str, table: str, variable_of: Callable[[Tensor], str], start_of: Callable[[str], float]
) -> Update | Refusal:
    """Return the update that a fused sparse step of `table` performs, with its slots and their initial values."""
    form, inputs = FUSED[view.type(op)], view.inputs(op)
    if refusal := _refusal(view, op, table, form):
        return refusal
    values, indices = inputs[form.gradient : form.gradient + 2]
    if view.type(indices.op) not in UNIQUE:
        reason = (
            "may get an id twice, and then applies its gradients one after the other, while a table applies their sum"
        )
        return Refusal(table, f"its optimizer's `{op}` {reason}", (table, op))
    values, indices = before_summing(view, values, indices)
    return _update(view, op, form, values, indices, variable_of, start_of)


def dense_update(
    view: GraphView, op: str, table: str, variable_of: Callable[[Tensor], str], start_of: Callable[[str], float]
) -> Update | Refusal | Mismatch:
    """Return the update that a dense step of `table` performs: of the rows of its lookups, and of a term over all."""
    form = DENSE[view.type(op)]
    if refusal := _refusal(view, op, table, form):
        return refusal
    gradient = dense_gradient(view, table, view.inputs(op)[form.gradient])
    if isinstance(gradient, Mismatch):
        return gradient
    reader = only_in(view, gradient, op)
    if reader is not None:
        return Refusal(
            table, f"`{reader}` reads its gradient with all rows, which a table does not compute", (table, op)
        )
    values, indices = gradient.sums[0] if gradient.sums else (None, None)
    weighted = any(one is not None for one in gradient.weights)
    return replace(
        _update(view, op, form, values, indices, variable_of, start_of),
        pieces=tuple(gradient.sums) if len(gradient.sums) > 1 or weighted else (),
        weights=tuple(gradient.weights) if weighted else (),
        whole=gradient.whole,
        arithmetic=tuple(gradient.ops),
    )


def _refusal(view: GraphView, op: str, table: str, form: _Step) -> Refusal | None:
    """Return why a table has no step as an op is set to make it; None if it has."""
    if form.rule == "adagrad" and not _flag(view, op, "update_slots", True):
        return Refusal(table, "its Adagrad optimizer does not update the accumulator (update_slots=False)", (table, op))
    if form.rule == "lazy_adam" and _flag(view, op, "use_nesterov", False):
        return Refusal(
            table,
            "its Adam optimizer has use_nesterov=True, which tables do not have for a gradient of all rows",
            (table, op),
        )
    return None


def _update(
    view: GraphView,
    op: str,
    form: _Step,
    values: Tensor | None,
    indices: Tensor | None,
    variable_of: Callable[[Tensor], str],
    start_of: Callable[[str], float],
) -> Update:
    inputs = view.inputs(op)
    slots = tuple(variable_of(inputs[number]) for number in form.slots)
    hyper = tuple(_hyper(view, op, inputs, given) for given in form.hyper)
    return Update(form.rule, values, indices, hyper, tuple(map(start_of, slots)), slots, (op,))


def _hyper(view: GraphView, op: str, inputs: tuple[Tensor, ...], hyper: Hyper) -> Tensor | float:
    if isinstance(hyper, str):
        return float(_flag(view, op, hyper, False))
    return inputs[hyper] if isinstance(hyper, int) else hyper


def _flag(view: GraphView, op: str, name: str, default: bool) -> bool:
    return bool(view.attribute(op, name).b) if name in view.nodes[op].attr else default
