"""Losses."""

from __future__ import annotations

from collections.abc import Callable

from migrate.source.paddle.abstract.values import Tensor
from migrate.source.paddle.ops.shapes import axis_of, broadcast, tensor
from migrate.source.paddle.ops.spec import Arguments, Op

_F = "paddle.nn.functional"


def _elementwise(first: str, second: str) -> Callable[[Arguments], Tensor]:
    """A loss of the shape of its operands, or a scalar with a `reduction`."""

    def result(bound: Arguments) -> Tensor:
        x, y = tensor(bound[first]), tensor(bound[second])
        shape = broadcast(x.shape, y.shape)
        return Tensor(() if bound.get("reduction", "none") != "none" else shape, x.dtype)

    return result


def _cross_entropy(bound: Arguments) -> Tensor:
    x = tensor(bound["input"])
    if bound.get("reduction", "none") != "none":
        return Tensor((), x.dtype)
    label = tensor(bound["label"])
    if x.shape is None or label.shape is None:
        return Tensor(None, x.dtype)
    axis = axis_of(bound["axis"], len(x.shape))
    kept = len(label.shape) == len(x.shape)
    return Tensor((*x.shape[:axis], *((1,) if kept else ()), *x.shape[axis + 1 :]), x.dtype)


OPS: tuple[Op, ...] = (
    Op(f"{_F}.log_loss(input, label, epsilon=0.0001, name=None)", _elementwise("input", "label")),
    Op(f"{_F}.square_error_cost(input, label)", _elementwise("input", "label")),
    Op(f"{_F}.mse_loss(input, label, reduction='mean', name=None)", _elementwise("input", "label")),
    Op(f"{_F}.l1_loss(input, label, reduction='mean', name=None)", _elementwise("input", "label")),
    Op(
        f"{_F}.binary_cross_entropy(input, label, weight=None, reduction='mean', name=None)",
        _elementwise("input", "label"),
    ),
    Op(
        f"{_F}.binary_cross_entropy_with_logits(logit, label, weight=None, reduction='mean', pos_weight=None, "
        "name=None)",
        _elementwise("logit", "label"),
    ),
    Op(
        f"{_F}.cross_entropy(input, label, weight=None, ignore_index=-100, reduction='mean', soft_label=False, "
        "axis=-1, use_softmax=True, name=None)",
        _cross_entropy,
    ),
)
