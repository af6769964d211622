"""Losses of regression, of probabilities and of distances. Losses over classes: `class_loss`."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.nn.functional.promotion import promoted
from runtime.nn.functional.reducing import reduced
from runtime.nn.functional.tensors import sizes, tensor


def log_loss(input: Any, label: Any, epsilon: float = 1e-4, name: str | None = None) -> tf.Tensor:
    """Return -label · log(input + epsilon) - (1 - label) · log(1 - input + epsilon); no gradient to the label."""
    p, label = tensor(input), tf.stop_gradient(tensor(label))
    return -label * tf.math.log(p + epsilon) - (1 - label) * tf.math.log(_plus(1 - p, epsilon))


def _plus(x: tf.Tensor, number: float) -> tf.Tensor:
    """Return x + number. TensorFlow makes (1 + epsilon) - p of `1 - p + epsilon`, and loses the digits of epsilon."""
    return tf.add_n([x, tf.fill(tf.shape(x), tf.constant(number, x.dtype))])


def square_error_cost(input: Any, label: Any) -> tf.Tensor:
    """Return (input - label)²."""
    return tf.square(tf.subtract(*promoted(input, label)))


def mse_loss(input: Any, label: Any, reduction: str = "mean", name: str | None = None) -> tf.Tensor:
    """Return (input - label)², reduced."""
    return reduced(square_error_cost(input, label), reduction, "mse_loss")


def l1_loss(input: Any, label: Any, reduction: str = "mean", name: str | None = None) -> tf.Tensor:
    """Return |input - label|, reduced."""
    return reduced(tf.abs(tf.subtract(*promoted(input, label))), reduction, "l1_loss")


def smooth_l1_loss(
    input: Any, label: Any, reduction: str = "mean", delta: float = 1.0, name: str | None = None
) -> tf.Tensor:
    """Return d² / 2 for |d| up to delta, else delta · (|d| - delta / 2), of d = label - input, reduced."""
    distance = tensor(label) - tensor(input)
    size = tf.abs(distance)
    loss = tf.where(size <= delta, 0.5 * tf.square(distance), delta * (size - 0.5 * delta))
    return reduced(loss, reduction, "smooth_l1_loss")


def binary_cross_entropy(
    input: Any, label: Any, weight: Any = None, reduction: str = "mean", name: str | None = None
) -> tf.Tensor:
    """Return -label · log(input) - (1 - label) · log(1 - input), reduced.

    Args:
        input: probabilities; logarithms count as -100 at least, and the divisor of the gradient as 1e-12 at least.
        label: the same shape; it gets no gradient.
        weight: factors that broadcast.
        reduction: "none", "mean" or "sum".
        name: not used.
    """
    p, target = tensor(input), tf.stop_gradient(tensor(label))
    loss = _bce(p, target)
    if weight is not None:
        loss *= tensor(weight)
    return reduced(loss, reduction, "binary_cross_entropy")


def _bce(p: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
    def entropy(probability: tf.Tensor, label: tf.Tensor) -> Any:
        loss = (label - 1) * tf.maximum(tf.math.log(1 - probability), -100.0)
        loss -= label * tf.maximum(tf.math.log(probability), -100.0)

        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, None]:
            divisor = tf.maximum((1 - probability) * probability, 1e-12)
            return upstream * (probability - label) / divisor, None

        return loss, gradient

    loss = tf.custom_gradient(entropy)(p, target)
    loss.set_shape(tf.broadcast_static_shape(p.shape, target.shape))
    return loss


def binary_cross_entropy_with_logits(
    logit: Any,
    label: Any,
    weight: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
    name: str | None = None,
) -> tf.Tensor:
    """Return the binary cross entropy of sigmoid(logit), reduced.

    Args:
        logit: floats.
        label: the same shape; it gets no gradient of the entropy.
        weight: factors that broadcast.
        reduction: "none", "mean" or "sum".
        pos_weight: factors of samples with label 1, for each class.
        name: not used.
    """
    logit, target = tensor(logit), tf.stop_gradient(tensor(label))
    loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=logit)
    if pos_weight is not None:
        # Paddle's kernel has the factor at the logarithm alone, and at the whole sigmoid in the gradient.
        factor = tf.stop_gradient(target * (tensor(pos_weight) - 1) + 1)
        value = tf.nn.relu(logit) - logit * target + tf.math.log1p(tf.exp(-tf.abs(logit))) * factor
        sloped = tf.nn.softplus(logit) * factor - logit * target
        loss = sloped + tf.stop_gradient(value - sloped)
    if weight is not None:
        loss *= tensor(weight)
    return reduced(loss, reduction, "binary_cross_entropy_with_logits")


def kl_div(input: Any, label: Any, reduction: str = "mean", name: str | None = None) -> tf.Tensor:
    """Return label · (log(label) - input), 0 where the label is not above 0; no gradient to the label.

    Args:
        input: logarithms of probabilities.
        label: probabilities.
        reduction: "none", "mean", "sum" or "batchmean", the sum over the first size.
        name: not used.
    """
    scores, target = promoted(input, label)
    target = tf.stop_gradient(target)
    positive = target > 0
    safe = tf.where(positive, target, tf.ones_like(target))
    loss = tf.where(positive, target * (tf.math.log(safe) - scores), tf.zeros_like(target))
    if reduction == "batchmean":
        return tf.reduce_sum(loss) / tf.cast(sizes(scores)[0], loss.dtype)
    return reduced(loss, reduction, "kl_div")


def margin_ranking_loss(
    input: Any, other: Any, label: Any, margin: float = 0.0, reduction: str = "mean", name: str | None = None
) -> tf.Tensor:
    """Return max(0, label · (other - input) + margin), reduced."""
    loss = (tensor(other) - tensor(input)) * tensor(label) + margin
    return reduced(tf.nn.relu(loss), reduction, "margin_ranking_loss")


__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "kl_div",
    "l1_loss",
    "log_loss",
    "margin_ranking_loss",
    "mse_loss",
    "smooth_l1_loss",
    "square_error_cost",
]
