"""Activations, and what normalizes vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime.nn import masks
from runtime.nn.functional.elementwise import clip, maximum
from runtime.nn.functional.reduction import max as largest
from runtime.nn.functional.reduction import norm
from runtime.nn.functional.shaping import reshape
from runtime.nn.functional.tensors import axis_of, rank, sizes, tensor


def relu(x: Any, name: str | None = None) -> tf.Tensor:
    """Return max(x, 0); the gradient at 0 is 0."""
    return tf.nn.relu(tensor(x))


def relu6(x: Any, name: str | None = None) -> tf.Tensor:
    """Return x cut to [0, 6]."""
    return tf.nn.relu6(tensor(x))


def softmax(x: Any, axis: int = -1, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """Return exp(x) / sum(exp(x)) along an axis; x is cast to `dtype` before.

    The share of one element is 1, and its gradient 0. `tf.nn.softmax` multiplies by a reciprocal that may be 1 - 6e-8,
    which leaves a gradient that Adam makes full steps of.
    """
    return _along(_shares, tensor(x, dtype), axis)


def _shares(x: tf.Tensor, axis: int = -1) -> tf.Tensor:
    def computed(values: tf.Tensor) -> Any:
        powers = tf.exp(values - tf.reduce_max(values, axis, keepdims=True))
        result = powers / tf.reduce_sum(powers, axis, keepdims=True)

        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            return (upstream - tf.reduce_sum(upstream * result, axis, keepdims=True)) * result

        return result, gradient

    return tf.custom_gradient(computed)(x)


def log_softmax(x: Any, axis: int = -1, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """Return the logarithm of `softmax`."""
    return _along(tf.nn.log_softmax, tensor(x, dtype), axis)


def _along(function: Callable[..., tf.Tensor], x: tf.Tensor, axis: int) -> tf.Tensor:
    if rank(x) == 0:
        return tf.reshape(function(tf.reshape(x, [1])), [])
    return function(x, axis=axis_of(axis, rank(x)))


def gelu(x: Any, approximate: bool = False, name: str | None = None) -> tf.Tensor:
    """Return x · Phi(x); `approximate`: by tanh."""
    return tf.nn.gelu(tensor(x), approximate)


def leaky_relu(x: Any, negative_slope: float = 0.01, name: str | None = None) -> tf.Tensor:
    """Return x, times negative_slope below 0; the gradient at 0 is 1."""
    x = tensor(x)
    return tf.where(x < 0, x * negative_slope, x)


def prelu(x: Any, weight: Any, data_format: str = "NCHW", name: str | None = None) -> tf.Tensor:
    """Return x, times a weight up to 0.

    Args:
        x: floats.
        weight: [1], or one for each channel.
        data_format: the channels are in axis 1, or the last one if it ends in C.
        name: not used.
    """
    x, slopes = tensor(x), tensor(weight)
    if slopes.shape.num_elements() != 1:
        after = 0 if data_format.endswith("C") and data_format != "NC" else rank(x) - 2
        slopes = tf.reshape(slopes, [-1] + [1] * after)
    elif slopes.shape.rank != 0 and rank(x) == 0:
        slopes = tf.reshape(slopes, [])
    return tf.where(x > 0, x, x * slopes)


def elu(x: Any, alpha: float = 1.0, name: str | None = None) -> tf.Tensor:
    """Return x, and alpha · (exp(x) - 1) up to 0, where the gradient is alpha."""
    x = tensor(x)
    return tf.where(x > 0, x, alpha * tf.math.expm1(_up_to_0(x)))


def celu(x: Any, alpha: float = 1.0, name: str | None = None) -> tf.Tensor:
    """Return x, and alpha · (exp(x / alpha) - 1) up to 0."""
    x = tensor(x)
    return tf.where(x > 0, x, alpha * tf.math.expm1(_up_to_0(x) / alpha))


def _up_to_0(x: tf.Tensor) -> tf.Tensor:
    """Return x, and 0 where it is above: the branch that is not used must not overflow."""
    return tf.where(x > 0, tf.zeros_like(x), x)


def selu(
    x: Any,
    scale: float = 1.0507009873554804934193349852946,
    alpha: float = 1.6732632423543772848170429916717,
    name: str | None = None,
) -> tf.Tensor:
    """Return scale · x, and scale · alpha · (exp(x) - 1) up to 0."""
    x = tensor(x)
    return scale * tf.where(x > 0, x, alpha * tf.math.expm1(_up_to_0(x)))


def softplus(x: Any, beta: float = 1, threshold: float = 20, name: str | None = None) -> tf.Tensor:
    """Return log(1 + exp(beta · x)) / beta, and x where beta · x is above the threshold."""
    x = tensor(x)
    return tf.where(x * beta > threshold, x, tf.math.softplus(x * beta) / beta)


def silu(x: Any, name: str | None = None) -> tf.Tensor:
    """Return x · sigmoid(x)."""
    x = tensor(x)
    return x * tf.sigmoid(x)


def swish(x: Any, name: str | None = None) -> tf.Tensor:
    """Return x · sigmoid(x)."""
    return silu(x)


def mish(x: Any, name: str | None = None) -> tf.Tensor:
    """Return x · tanh(softplus(x))."""
    x = tensor(x)
    return x * tf.tanh(softplus(x))


def softsign(x: Any, name: str | None = None) -> tf.Tensor:
    """Return x / (1 + |x|)."""
    return tf.nn.softsign(tensor(x))


def log_sigmoid(x: Any, name: str | None = None) -> tf.Tensor:
    """Return the logarithm of sigmoid(x)."""
    return tf.math.log_sigmoid(tensor(x))


def hardsigmoid(x: Any, slope: float = 0.1666667, offset: float = 0.5, name: str | None = None) -> tf.Tensor:
    """Return slope · x + offset, cut to [0, 1]."""
    return clip(tensor(x) * slope + offset, 0.0, 1.0)


def hardswish(x: Any, name: str | None = None) -> tf.Tensor:
    """Return x · (x + 3) / 6 between -3 and 3, 0 below and x above."""
    x = tensor(x)
    return tf.where(x >= 3, x, tf.where(x <= -3, tf.zeros_like(x), x * (x + 3) / 6))


def hardtanh(x: Any, min: float = -1.0, max: float = 1.0, name: str | None = None) -> tf.Tensor:
    """Return x cut to [min, max]; exactly on a bound there is no gradient."""
    return clip(x, min, max)


def softshrink(x: Any, threshold: float = 0.5, name: str | None = None) -> tf.Tensor:
    """Return x moved towards 0 by the threshold, and 0 where it is nearer than that."""
    x = tensor(x)
    zeros = tf.zeros_like(x)
    return tf.where(x > threshold, x - threshold, tf.where(x < -threshold, x + threshold, zeros))


def hardshrink(x: Any, threshold: float = 0.5, name: str | None = None) -> tf.Tensor:
    """Return x, and 0 where |x| is not above the threshold."""
    x = tensor(x)
    return tf.where((x > threshold) | (x < -threshold), x, tf.zeros_like(x))


def tanhshrink(x: Any, name: str | None = None) -> tf.Tensor:
    """Return x - tanh(x)."""
    x = tensor(x)
    return x - tf.tanh(x)


def thresholded_relu(x: Any, threshold: float = 1.0, name: str | None = None) -> tf.Tensor:
    """Return x, and 0 where it is not above the threshold."""
    x = tensor(x)
    return tf.where(x > threshold, x, tf.zeros_like(x))


def glu(x: Any, axis: int = -1, name: str | None = None) -> tf.Tensor:
    """Return the first half along an axis times the sigmoid of the second."""
    first, second = tf.split(tensor(x), 2, axis)
    return first * tf.sigmoid(second)


def normalize(x: Any, p: float = 2, axis: int = 1, epsilon: float = 1e-12, name: str | None = None) -> tf.Tensor:
    """Return x / max(norm of order p along an axis, epsilon).

    Paddle's kernel has epsilon in the gradient of the norm, too: it is divided by 1 + epsilon / norm^(p - 1).
    """

    def computed(length: tf.Tensor) -> Any:
        return length, lambda upstream: upstream / (1 + epsilon * tf.pow(length, tf.cast(1 - p, length.dtype)))

    x = tensor(x)
    length = norm(x, p, axis, keepdim=True)
    if epsilon and p and abs(p) != float("inf"):
        length = tf.custom_gradient(computed)(length)
    return x / maximum(length, epsilon)


def cosine_similarity(x1: Any, x2: Any, axis: int = 1, eps: float = 1e-8) -> tf.Tensor:
    """Return the cosine of vectors along an axis; the product of their lengths counts as eps at least."""
    x1, x2 = tensor(x1), tensor(x2)
    product = tf.reduce_sum(x1 * x2, axis)
    squares = tf.reduce_sum(tf.square(x1), axis) * tf.reduce_sum(tf.square(x2), axis)
    return product / tf.sqrt(clip(squares, min=eps * eps))


def pairwise_distance(
    x: Any, y: Any, p: float = 2.0, epsilon: float = 1e-6, keepdim: bool = False, name: str | None = None
) -> tf.Tensor:
    """Return the norm of order p of x - y + epsilon along the last axis."""
    return norm(tensor(x) - tensor(y) + epsilon, p, -1, keepdim)


def label_smooth(label: Any, prior_dist: Any = None, epsilon: float = 0.1, name: str | None = None) -> tf.Tensor:
    """Return (1 - epsilon) · label + epsilon · prior_dist: no gradient, and uniform over the last axis if not given."""
    label = tensor(label)
    prior = 1 / tf.cast(sizes(label)[-1], label.dtype) if prior_dist is None else tf.stop_gradient(tensor(prior_dist))
    return (1 - epsilon) * label + epsilon * prior


def dropout(
    x: Any,
    p: float = 0.5,
    axis: Any = None,
    training: bool = True,
    mode: str = "upscale_in_train",
    name: str | None = None,
) -> tf.Tensor:
    """Return x with elements set to 0 by chance: see `runtime.nn.masks.dropout`."""
    return masks.dropout(tensor(x), p, axis, training, mode)


def maxout(x: Any, groups: int, axis: int = 1, name: str | None = None) -> tf.Tensor:
    """Return the largest of each `groups` channels that follow one another."""
    x = tensor(x)
    along, own = axis_of(axis, rank(x)), sizes(x)
    return largest(reshape(x, [*own[:along], own[along] // groups, groups, *own[along + 1 :]]), along + 1)


def logit(x: Any, eps: float | None = None, name: str | None = None) -> tf.Tensor:
    """Return log(x / (1 - x)), of x cut to [eps, 1 - eps] if eps is given."""
    x = tensor(x)
    return tf.math.log(x / (1 - x)) if eps is None else _cut_logit(x, eps)


def _cut_logit(x: tf.Tensor, eps: float) -> tf.Tensor:
    inside = (x >= eps) & (x <= 1 - eps)
    cut = tf.where(inside, x, tf.stop_gradient(tf.clip_by_value(x, eps, 1 - eps)))
    return tf.math.log(cut / (1 - cut))


__all__ = [
    "celu",
    "cosine_similarity",
    "dropout",
    "elu",
    "gelu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "label_smooth",
    "leaky_relu",
    "log_sigmoid",
    "log_softmax",
    "logit",
    "maxout",
    "mish",
    "normalize",
    "pairwise_distance",
    "prelu",
    "relu",
    "relu6",
    "selu",
    "silu",
    "softmax",
    "softplus",
    "softshrink",
    "softsign",
    "swish",
    "tanhshrink",
    "thresholded_relu",
]
