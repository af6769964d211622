"""Losses."""

from __future__ import annotations

from collections.abc import Callable

from migrate.source.paddle.abstract.values import Refuse, Tensor
from migrate.source.paddle.ops.shapes import axis_of, both_tensors, broadcast, floating, promoted, tensor
from migrate.source.paddle.ops.spec import Arguments, Form, Op

_F = "paddle.nn.functional"
_REDUCTIONS = ("none", "mean", "sum")
_Result = Callable[[Arguments], Tensor]


def _reduction(bound: Arguments, *more: str) -> bool:
    """Whether the loss is reduced to a scalar."""
    reduction = bound.get("reduction", "none")
    if reduction not in (*_REDUCTIONS, *more):
        raise Refuse(f"the reduction {reduction!r} is none of {', '.join((*_REDUCTIONS, *more))}")
    return bool(reduction != "none")


def _elementwise(first: str, second: str, *more: str) -> _Result:
    """A loss of the shape of its operands, or a scalar with a `reduction`."""

    def result(bound: Arguments) -> Tensor:
        x, y = tensor(bound[first]), tensor(bound[second])
        return Tensor(() if _reduction(bound, *more) else broadcast(x.shape, y.shape), promoted(x, y))

    return result


def _last_axis(first: str, second: str) -> _Result:
    """A loss of vectors in the last axis."""

    def result(bound: Arguments) -> Tensor:
        x, y = tensor(bound[first]), tensor(bound[second])
        shape = broadcast(x.shape, y.shape)
        return Tensor(() if _reduction(bound) else None if shape is None else shape[:-1], promoted(x, y))

    return result


def _cross_entropy(bound: Arguments) -> Tensor:
    x = tensor(bound["input"])
    if _reduction(bound):
        return Tensor((), x.dtype)
    label = tensor(bound["label"])
    if x.shape is None or label.shape is None:
        return Tensor(None, x.dtype)
    axis = axis_of(bound["axis"], len(x.shape))
    kept = len(label.shape) == len(x.shape)
    return Tensor((*x.shape[:axis], *((1,) if kept else ()), *x.shape[axis + 1 :]), x.dtype)


def _with_softmax(bound: Arguments) -> Tensor | tuple[Tensor, Tensor]:
    x = tensor(bound["logits"])
    if x.shape is None:
        loss = Tensor(None, x.dtype)
    else:
        axis = axis_of(bound["axis"], len(x.shape))
        loss = Tensor((*x.shape[:axis], 1, *x.shape[axis + 1 :]), x.dtype)
    return (loss, Tensor(x.shape, x.dtype)) if bound["return_softmax"] else loss


def _of_classes(bound: Arguments) -> Tensor:
    x = tensor(bound["input"])
    return Tensor(() if _reduction(bound) else tensor(bound["label"]).shape, x.dtype)


def _triplet(bound: Arguments) -> Tensor:
    x = tensor(bound["input"])
    return Tensor(() if _reduction(bound) else None if x.shape is None else x.shape[:-1], x.dtype)


_MEAN = "reduction='mean', name=None"

OPS: tuple[Op, ...] = (
    Op(f"{_F}.log_loss(input, label, epsilon=0.0001, name=None)", _elementwise("input", "label")),
    Op(
        f"{_F}.square_error_cost(input, label)",
        _elementwise("input", "label"),
        (Form("tf.squared_difference(x=input, y=label)", lambda bound: both_tensors(bound) and floating(bound)),),
    ),
    *(Op(f"{_F}.{name}(input, label, {_MEAN})", _elementwise("input", "label")) for name in ("mse_loss", "l1_loss")),
    Op(f"{_F}.smooth_l1_loss(input, label, reduction='mean', delta=1.0, name=None)", _elementwise("input", "label")),
    Op(f"{_F}.binary_cross_entropy(input, label, weight=None, {_MEAN})", _elementwise("input", "label")),
    Op(
        f"{_F}.binary_cross_entropy_with_logits(logit, label, weight=None, reduction='mean', pos_weight=None, "
        "name=None)",
        _elementwise("logit", "label"),
    ),
    Op(
        f"{_F}.cross_entropy(input, label, weight=None, ignore_index=-100, reduction='mean', soft_label=False, "
        "axis=-1, use_softmax=True, label_smoothing=0.0, name=None)",
        _cross_entropy,
    ),
    Op(
        f"{_F}.softmax_with_cross_entropy(logits, label, soft_label=False, ignore_index=-100, "
        "numeric_stable_mode=True, return_softmax=False, axis=-1)",
        _with_softmax,
    ),
    Op(f"{_F}.nll_loss(input, label, weight=None, ignore_index=-100, {_MEAN})", _of_classes),
    Op(f"{_F}.kl_div(input, label, {_MEAN})", _elementwise("input", "label", "batchmean")),
    Op(f"{_F}.margin_ranking_loss(input, other, label, margin=0.0, {_MEAN})", _elementwise("input", "other")),
    Op(f"{_F}.hinge_embedding_loss(input, label, margin=1.0, {_MEAN})", _elementwise("input", "label")),
    Op(f"{_F}.cosine_embedding_loss(input1, input2, label, margin=0, {_MEAN})", _last_axis("input1", "input2")),
    Op(
        f"{_F}.triplet_margin_loss(input, positive, negative, margin=1.0, p=2, epsilon=1e-06, swap=False, {_MEAN})",
        _triplet,
    ),
    Op(f"{_F}.soft_margin_loss(input, label, {_MEAN})", _elementwise("input", "label")),
    Op(
        f"{_F}.sigmoid_focal_loss(logit, label, normalizer=None, alpha=0.25, gamma=2.0, reduction='sum', name=None)",
        _elementwise("logit", "label"),
    ),
)
