"""Losses of regression, of probabilities and of distances. Losses over classes: `class_loss`."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.nn.eager_kernels import eager_kernel
from runtime.nn.functional.activation import pairwise_distance
from runtime.nn.functional.elementwise import clip, minimum
from runtime.nn.functional.reducing import reduced
from runtime.nn.functional.tensors import promoted, sizes, tensor


@eager_kernel
def log_loss(input: Any, label: Any, epsilon: float = 1e-4, name: str | None = None) -> tf.Tensor:
    """Return -label · log(input + epsilon) - (1 - label) · log(1 - input + epsilon); no gradient to the label."""
    p, label = tensor(input), tf.stop_gradient(tensor(label))
    return -label * tf.math.log(p + epsilon) - (1 - label) * tf.math.log(_plus(1 - p, epsilon))


def _plus(x: tf.Tensor, number: float) -> tf.Tensor:
    """Return x + number. TensorFlow makes (1 + epsilon) - p of `1 - p + epsilon`, and loses the digits of epsilon."""
    return tf.add_n([x, tf.fill(tf.shape(x), tf.constant(number, x.dtype))])


@eager_kernel
def square_error_cost(input: Any, label: Any) -> tf.Tensor:
    """Return (input - label)²."""
    return tf.square(tf.subtract(*promoted(input, label)))


@eager_kernel
def mse_loss(input: Any, label: Any, reduction: str = "mean", name: str | None = None) -> tf.Tensor:
    """Return (input - label)², reduced."""
    return reduced(square_error_cost(input, label), reduction, "mse_loss")


@eager_kernel
def l1_loss(input: Any, label: Any, reduction: str = "mean", name: str | None = None) -> tf.Tensor:
    """Return |input - label|, reduced."""
    return reduced(tf.abs(tf.subtract(*promoted(input, label))), reduction, "l1_loss")


@eager_kernel
def smooth_l1_loss(
    input: Any, label: Any, reduction: str = "mean", delta: float = 1.0, name: str | None = None
) -> tf.Tensor:
    """Return d² / 2 for |d| up to delta, else delta · (|d| - delta / 2), of d = label - input, reduced."""
    distance = tensor(label) - tensor(input)
    size = tf.abs(distance)
    loss = tf.where(size <= delta, 0.5 * tf.square(distance), delta * (size - 0.5 * delta))
    return reduced(loss, reduction, "smooth_l1_loss")


@eager_kernel
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


@eager_kernel
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


@eager_kernel
def sigmoid_focal_loss(
    logit: Any,
    label: Any,
    normalizer: Any = None,
    alpha: float = 0.25,
    gamma: float = 2.0,
    reduction: str = "sum",
    name: str | None = None,
) -> tf.Tensor:
    """Return alpha_t · (1 - p_t)^gamma · cross entropy, divided by `normalizer`, reduced."""
    logit, label = tensor(logit), tensor(label)
    p = tf.sigmoid(logit)
    hit = p * label + (1 - p) * (1 - label)
    loss = (alpha * label + (1 - alpha) * (1 - label)) * binary_cross_entropy_with_logits(logit, label, None, "none")
    loss *= tf.pow(1 - hit, gamma)
    if normalizer is not None:
        loss /= tensor(normalizer)
    return reduced(loss, reduction, "sigmoid_focal_loss")


@eager_kernel
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


@eager_kernel
def margin_ranking_loss(
    input: Any, other: Any, label: Any, margin: float = 0.0, reduction: str = "mean", name: str | None = None
) -> tf.Tensor:
    """Return max(0, label · (other - input) + margin), reduced."""
    loss = (tensor(other) - tensor(input)) * tensor(label) + margin
    return reduced(tf.nn.relu(loss), reduction, "margin_ranking_loss")


@eager_kernel
def hinge_embedding_loss(
    input: Any, label: Any, margin: float = 1.0, reduction: str = "mean", name: str | None = None
) -> tf.Tensor:
    """Return input for label 1 and max(0, margin - input) for label -1, reduced."""
    x, label = tensor(input), tensor(label)
    zeros = tf.zeros_like(x)
    loss = tf.where(tf.equal(label, 1), x, zeros) + tf.where(tf.equal(label, -1), tf.nn.relu(margin - x), zeros)
    return reduced(loss, reduction, "hinge_embedding_loss")


@eager_kernel
def cosine_embedding_loss(
    input1: Any, input2: Any, label: Any, margin: float = 0, reduction: str = "mean", name: str | None = None
) -> tf.Tensor:
    """Return 1 - cosine for label 1 and max(0, cosine - margin) for label -1, reduced."""
    a, b, label = tensor(input1), tensor(input2), tensor(label)
    lengths = tf.sqrt((tf.reduce_sum(tf.square(a), -1) + 10e-12) * (tf.reduce_sum(tf.square(b), -1) + 10e-12))
    cosine = tf.reduce_sum(a * b, -1) / lengths
    zeros = tf.zeros_like(cosine)
    apart = tf.where(tf.equal(label, -1), clip(cosine - margin, min=0), zeros)
    return reduced(tf.where(tf.equal(label, 1), 1 - cosine, zeros) + apart, reduction, "cosine_embedding_loss")


@eager_kernel
def triplet_margin_loss(
    input: Any,
    positive: Any,
    negative: Any,
    margin: float = 1.0,
    p: float = 2,
    epsilon: float = 1e-06,
    swap: bool = False,
    reduction: str = "mean",
    name: str | None = None,
) -> tf.Tensor:
    """Return max(0, distance to positive - distance to negative + margin), reduced."""
    near, far = pairwise_distance(input, positive, p, epsilon), pairwise_distance(input, negative, p, epsilon)
    if swap:
        far = minimum(far, pairwise_distance(positive, negative, p, epsilon))
    return reduced(clip(near - far + margin, min=0.0), reduction, "triplet_margin_loss")


@eager_kernel
def soft_margin_loss(input: Any, label: Any, reduction: str = "mean", name: str | None = None) -> tf.Tensor:
    """Return log(1 + exp(-label · input)), reduced."""
    x = tensor(input)
    return reduced(tf.math.log(1 + tf.exp(-tensor(label, x.dtype) * x)), reduction, "soft_margin_loss")


__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "hinge_embedding_loss",
    "kl_div",
    "l1_loss",
    "log_loss",
    "margin_ranking_loss",
    "mse_loss",
    "sigmoid_focal_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "square_error_cost",
    "triplet_margin_loss",
]
