"""Dense updates: the steps of `tf.compat.v1.train` optimizers on a gradient with all rows, from a term over them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rewriter.facts import Refusal, Update
from rewriter.graph.view import GraphView, Tensor
from rewriter.patterns.matching import Mismatch
from rewriter.patterns.whole_table import dense_gradient, only_in

__all__ = ["DENSE", "dense_update"]


@dataclass(frozen=True)
class _Dense:
    """Input positions of an op. Each of `hyper` is an input position, a constant, or the name of a bool attribute."""

    rule: str
    slots: tuple[int, ...]
    gradient: int
    hyper: tuple[int | float | str, ...]


_OPS = {
    "ApplyGradientDescent": _Dense("sgd", (), 2, (1, 0.0)),
    "ApplyAdagrad": _Dense("adagrad", (1,), 3, (2, 0.0)),
    "ApplyAdagradV2": _Dense("adagrad", (1,), 4, (2, 3)),
    "ApplyMomentum": _Dense("momentum", (1,), 3, (2, 4, "use_nesterov")),
    "ApplyRMSProp": _Dense("rmsprop", (1, 2), 7, (3, 4, 5, 6)),
    "ApplyCenteredRMSProp": _Dense("rmsprop_centered", (2, 3, 1), 8, (4, 5, 6, 7)),
    "ApplyFtrl": _Dense("ftrl", (1, 2), 3, (4, 5, 6, 0.0, 7, 0.0)),
    "ApplyFtrlV2": _Dense("ftrl", (1, 2), 3, (4, 5, 6, 7, 8, 0.0)),
    "ApplyAdadelta": _Dense("adadelta", (1, 2), 6, (3, 4, 5)),
    "ApplyProximalAdagrad": _Dense("proximal_adagrad", (1,), 5, (2, 3, 4)),
    "ApplyProximalGradientDescent": _Dense("proximal_sgd", (), 4, (1, 2, 3)),
    "ApplyAdagradDA": _Dense("adagrad_da", (1, 2), 3, (4, 5, 6, 7)),
    # Its powers are hyperparameters of this form alone.
    "ApplyAdam": _Dense("lazy_adam", (1, 2), 9, (5, 3, 4, 6, 7, 8)),
}
#: Op types of dense updates, on resource and ref variables.
DENSE = {prefix + name: op for name, op in _OPS.items() for prefix in ("", "Resource")}


def dense_update(
    view: GraphView, op: str, table: str, variable_of: Callable[[Tensor], str], start_of: Callable[[str], float]
) -> Update | Refusal | Mismatch:
    """Return the update that a dense step of `table` performs: of the rows of its lookups, and of a term over all."""
    form, inputs = DENSE[view.type(op)], view.inputs(op)
    if form.rule == "adagrad" and not _flag(view, op, "update_slots", True):
        return Refusal(table, "its Adagrad step does not update the accumulator", (table, op))
    if form.rule == "lazy_adam" and _flag(view, op, "use_nesterov", False):
        return Refusal(table, "its dense Adam step has Nesterov's momentum, which tables do not have", (table, op))
    found = dense_gradient(view, table, inputs[form.gradient])
    if isinstance(found, Mismatch):
        return found
    reader = only_in(view, found, op)
    if reader is not None:
        return Refusal(
            table, f"`{reader}` reads its gradient with all rows, which a table does not compute", (table, op)
        )
    slots = tuple(variable_of(inputs[number]) for number in form.slots)
    hyper = tuple(_hyper(view, op, inputs, given) for given in form.hyper)
    values, indices = found.sums[0] if found.sums else (None, None)
    weighted = any(one is not None for one in found.weights)
    pieces = tuple(found.sums) if len(found.sums) > 1 or weighted else ()
    starts = tuple(map(start_of, slots))
    return Update(
        form.rule,
        values,
        indices,
        hyper,
        starts,
        slots,
        (op,),
        pieces=pieces,
        weights=tuple(found.weights) if weighted else (),
        whole=found.whole,
        arithmetic=tuple(found.ops),
    )


def _hyper(view: GraphView, op: str, inputs: tuple[Tensor, ...], given: int | float | str) -> Tensor | float:
    if isinstance(given, str):
        return float(_flag(view, op, given, False))
    return inputs[given] if isinstance(given, int) else given


def _flag(view: GraphView, op: str, name: str, default: bool) -> bool:
    return bool(view.attribute(op, name).b) if name in view.nodes[op].attr else default
