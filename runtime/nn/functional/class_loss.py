"""Losses over classes: cross entropy and negative log likelihood."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.nn.eager_kernels import eager_kernel
from runtime.nn.functional.activation import label_smooth
from runtime.nn.functional.reducing import REDUCTIONS, divided, reduced
from runtime.nn.functional.tensors import axis_of, rank, sizes, tensor, with_static


@eager_kernel
def softmax_with_cross_entropy(
    logits: Any,
    label: Any,
    soft_label: bool = False,
    ignore_index: int = -100,
    numeric_stable_mode: bool = True,
    return_softmax: bool = False,
    axis: int = -1,
) -> Any:
    """Return the cross entropy [..., 1 in `axis`, ...] of softmax(logits), and perhaps that, which gets no gradient.

    Args:
        logits: floats.
        label: class indices [..., 1 or nothing in `axis`, ...], or with soft_label probabilities of logits' shape.
        soft_label: the label holds probabilities.
        ignore_index: a class index whose loss is 0.
        numeric_stable_mode: has no effect.
        return_softmax: return (loss, softmax).
        axis: of the classes.
    """
    logits = tensor(logits)
    along = axis_of(axis, rank(logits))
    loss = _entropy(logits, _with_axis(tensor(label), logits, along), soft_label, ignore_index, along, True)
    return (loss, tf.stop_gradient(tf.nn.softmax(logits, along))) if return_softmax else loss


def _with_axis(label: tf.Tensor, logits: tf.Tensor, axis: int) -> tf.Tensor:
    """Return the label with as many axes as the logits.

    Raises:
        ValueError: it has fewer or more.
    """
    if rank(label) == rank(logits) - 1:
        return tf.expand_dims(label, axis)
    if rank(label) == rank(logits):
        return label
    raise ValueError(
        f"the label has {rank(label)} dimensions and the input {rank(logits)}: give a label of as many or one less"
    )


def _entropy(x: tf.Tensor, label: tf.Tensor, soft: bool, ignored: int, axis: int, use_softmax: bool) -> tf.Tensor:
    """Return the loss with size 1 in `axis`; no gradient passes to the label."""
    label = tf.stop_gradient(label)
    if soft and use_softmax:
        return tf.expand_dims(_soft_entropy(x, tf.cast(label, x.dtype), axis), axis)
    if soft:
        return -tf.reduce_sum(tf.cast(label, x.dtype) * tf.math.log(x), axis, keepdims=True)
    index = tf.squeeze(label, [axis])
    counted = tf.not_equal(index, tf.cast(ignored, index.dtype))
    if not use_softmax:
        return tf.expand_dims(-_of_class(tf.math.log(x), index, counted, axis), axis)
    safe = tf.where(counted, index, tf.zeros_like(index))
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(safe, _last(x, axis))
    return tf.expand_dims(tf.where(counted, loss, tf.zeros_like(loss)), axis)


def _last(x: tf.Tensor, axis: int) -> tf.Tensor:
    """Return x with the axis as the last one."""
    return x if axis == rank(x) - 1 else tf.transpose(x, [i for i in range(rank(x)) if i != axis] + [axis])


def _soft_entropy(x: tf.Tensor, label: tf.Tensor, axis: int) -> tf.Tensor:
    """Return the loss without `axis`. Its gradient is softmax - label also for a label whose sum is not 1."""
    label = tf.broadcast_to(label, tf.shape(x))
    return tf.nn.softmax_cross_entropy_with_logits(_last(label, axis), _last(x, axis))


def _of_class(values: tf.Tensor, index: tf.Tensor, counted: tf.Tensor, axis: int) -> tf.Tensor:
    """Return the values at the class indices, and 0 where the label does not count."""
    safe = tf.where(counted, index, -tf.ones_like(index))
    chosen = tf.one_hot(safe, sizes(values)[axis], True, False, axis=axis, dtype=tf.bool)
    return tf.reduce_sum(tf.where(chosen, values, tf.zeros_like(values)), axis)


@eager_kernel
def cross_entropy(
    input: Any,
    label: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    soft_label: bool = False,
    axis: int = -1,
    use_softmax: bool = True,
    label_smoothing: float = 0.0,
    name: str | None = None,
) -> tf.Tensor:
    """Return the cross entropy of softmax(input), reduced.

    Args:
        input: logits, or probabilities with use_softmax=False.
        label: class indices [..., 1 or nothing in `axis`, ...], or probabilities of input's shape.
        weight: a factor for each class; the mean is over the sum of the factors.
        ignore_index: a class index whose loss is 0 and which does not count in the mean.
        reduction: "none": as the label with its axis of size 1 if it has one; or "mean", "sum": 0-d.
        soft_label: the label holds probabilities.
        axis: of the classes.
        use_softmax: False: input holds probabilities.
        label_smoothing: part of the label that is spread over all classes.
        name: not used.
    """
    if reduction not in REDUCTIONS:
        raise ValueError(f"cross_entropy: there is no reduction {reduction!r}: give one of {', '.join(REDUCTIONS)}")
    x, label = tensor(input), tensor(label)
    along, lacks_axis = axis_of(axis, rank(x)), rank(label) == rank(x) - 1
    label = _with_axis(label, x, along)
    if label_smoothing > 0:
        soft_label = True
        if not label.dtype.is_floating:
            label = tf.one_hot(tf.squeeze(label, [along]), sizes(x)[-1], dtype=x.dtype)
        label, lacks_axis = label_smooth(tf.cast(label, x.dtype), epsilon=label_smoothing), False
    loss = _entropy(x, label, soft_label, ignore_index, along, use_softmax)
    factors = None if weight is None else _factors(tensor(weight), label, soft_label, ignore_index, along)
    if factors is not None:
        loss *= factors
    if reduction == "none":
        return tf.squeeze(loss, [along]) if lacks_axis else loss
    if reduction == "sum" or (soft_label and factors is None):
        return reduced(loss, reduction, "cross_entropy")
    if factors is None:
        factors = tf.cast(tf.not_equal(label, tf.cast(ignore_index, label.dtype)), loss.dtype)
    return divided(tf.reduce_sum(loss), tf.reduce_sum(factors))


def _factors(weight: tf.Tensor, label: tf.Tensor, soft: bool, ignored: int, axis: int) -> tf.Tensor:
    """Return the factor of each sample, with size 1 in `axis`."""
    if soft:
        return tf.expand_dims(tf.tensordot(tf.cast(label, weight.dtype), weight, [[-1], [0]]), -1)
    counted = tf.not_equal(label, tf.cast(ignored, label.dtype))
    picked = tf.gather(weight, tf.where(counted, label, tf.zeros_like(label)))
    return tf.where(counted, picked, tf.zeros_like(picked))


@eager_kernel
def nll_loss(
    input: Any,
    label: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    name: str | None = None,
) -> tf.Tensor:
    """Return minus the logarithms at the class indices, reduced.

    Args:
        input: logarithms of probabilities [b, classes, ...].
        label: class indices [b, ...].
        weight: a factor for each class; the mean is over the sum of the factors.
        ignore_index: a class index whose loss is 0 and which does not count in the mean.
        reduction: "none", "mean" or "sum".
        name: not used.
    """
    x, index = tensor(input), tensor(label)
    counted = tf.not_equal(index, tf.cast(ignore_index, index.dtype))
    factors = tf.cast(counted, x.dtype)
    if weight is not None:
        factors *= tf.stop_gradient(tf.gather(tensor(weight), tf.where(counted, index, tf.zeros_like(index))))
    loss = -_of_class(x, index, counted, 1) * factors
    loss = with_static(loss, index.shape.as_list())
    if reduction == "mean":
        return tf.reduce_sum(loss) / tf.reduce_sum(factors)
    return reduced(loss, reduction, "nll_loss")


__all__ = ["cross_entropy", "nll_loss", "softmax_with_cross_entropy"]
