"""Normalization by the mean and the variance of a batch, of a layer's features, or of each channel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime.nn.functional.per_channel import mean_over, spread

v1 = tf.compat.v1
_LAYOUTS = ("NC", "NCL", "NCHW", "NCDHW", "NLC", "NHWC", "NDHWC")
_UPDATES = "runtime.nn.running_values"


def batch_norm(
    x: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-05,
    data_format: str = "NCHW",
    use_global_stats: bool | None = None,
    name: str | None = None,
) -> tf.Tensor:
    """Return x with mean 0 and variance 1 in each channel, times `weight` plus `bias`.

    Values of the batch are used while training, else those that run. What changes the running values is added to
    `tf.GraphKeys.UPDATE_OPS`: running * momentum + batch * (1 - momentum), of the variance that divides by the number
    of elements.

    A batch that has one element in each channel has no variance: while training it is returned as it is, and changes no
    running value; weight and bias have gradients of 0.

    Args:
        x: [batch, channel, ...], or [batch, ..., channel] with a layout whose second letter is not C.
        running_mean: a `Parameter` [channel], or a variable.
        running_var: the same.
        weight: [channel], or None.
        bias: [channel], or None. Where one of the two is None, the other has no gradient, as in Paddle.
        training: whether the batch gives mean and variance.
        momentum: how much of the running values stays.
        epsilon: added to the variance.
        data_format: NC, NCL, NCHW, NCDHW, NLC, NHWC or NDHWC.
        use_global_stats: True: the running values are used while training, too; False: never. A gradient that is taken
            outside of training counts mean and variance as constants.
        name: has no effect.

    Raises:
        ValueError: the layout is not known, or x has fewer than two dimensions.
    """
    x = tf.convert_to_tensor(x)
    axes, shape = _axes(x, data_format)
    from_batch = training if use_global_stats is None else not use_global_stats
    alone = _has_one(x, axes) if from_batch else None
    if from_batch:
        mean, variance = _of_batch(x, axes)
        _run(running_mean, running_var, tf.squeeze(mean, axes), tf.squeeze(variance, axes), momentum, alone)
        if not training:
            mean, variance = tf.stop_gradient(mean), tf.stop_gradient(variance)
    else:
        mean, variance = (tf.reshape(tf.convert_to_tensor(value), shape) for value in (running_mean, running_var))
    if weight is None or bias is None:
        weight, bias = (one if one is None else tf.stop_gradient(tf.convert_to_tensor(one)) for one in (weight, bias))
    scale = tf.math.rsqrt(variance + epsilon)

    def part(value: Any, instead: float) -> tf.Tensor:
        value = tf.reshape(tf.convert_to_tensor(value), shape)
        return spread(value if alone is None else tf.where(alone, tf.cast(instead, value.dtype), value), x, axes)

    normal = (x - part(mean, 0.0)) * part(scale, 1.0)
    normal = normal if weight is None else normal * part(weight, 1.0)
    return normal if bias is None else normal + part(bias, 0.0)


def layer_norm(
    x: Any,
    normalized_shape: int | Sequence[int],
    weight: Any = None,
    bias: Any = None,
    epsilon: float = 1e-05,
    name: str | None = None,
) -> tf.Tensor:
    """Return x with mean 0 and variance 1 over its last dimensions, times `weight` plus `bias`.

    Args:
        x: [..., *normalized_shape].
        normalized_shape: one size, or several.
        weight: as many values as `normalized_shape` has elements, in one dimension; or None.
        bias: the same.
        epsilon: added to the variance, which divides by the number of elements.
        name: has no effect.

    Raises:
        ValueError: x ends with other sizes.
    """
    sizes = [int(one) for one in normalized_shape] if isinstance(normalized_shape, Sequence) else [normalized_shape]
    x = tf.convert_to_tensor(x)
    rank = x.shape.rank
    if rank is None or rank < len(sizes) or not x.shape[rank - len(sizes) :].is_compatible_with(sizes):
        raise ValueError(
            f"layer_norm normalizes over last dimensions of the sizes {sizes}, but the tensor has shape {x.shape}: "
            "give a tensor whose shape ends with these sizes"
        )
    mean, variance = _moments(x, list(range(rank - len(sizes), rank)))
    inverse = tf.math.rsqrt if len(sizes) == 1 else _inverse_root
    return _scaled((x - mean) * inverse(variance + epsilon), weight, bias, sizes)


def instance_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.9,
    eps: float = 1e-05,
    data_format: str = "NCHW",
    name: str | None = None,
) -> tf.Tensor:
    """Return x with mean 0 and variance 1 in each channel of each example, times `weight` plus `bias`.

    Args:
        x: [batch, channel, ...].
        running_mean: has no effect, as in Paddle.
        running_var: has no effect.
        weight: [channel], or None.
        bias: [channel], or None.
        use_input_stats: has no effect.
        momentum: has no effect.
        eps: added to the variance, which divides by the number of elements.
        data_format: has no effect: the channel is the second dimension.
        name: has no effect.

    Raises:
        ValueError: x has fewer than two dimensions.
    """
    x = tf.convert_to_tensor(x)
    rank = x.shape.rank
    if rank is None or rank < 2:
        raise ValueError(f"instance_norm got a tensor of shape {x.shape}: give one of at least two dimensions")
    mean, variance = _moments(x, list(range(2, rank)))
    return _scaled((x - mean) * _inverse_root(variance + eps), weight, bias, [-1, *[1] * (rank - 2)])


def _axes(x: tf.Tensor, data_format: str) -> tuple[list[int], list[int]]:
    """Return the axes besides that of the channels, and the shape in which values of channels meet x."""
    if data_format not in _LAYOUTS:
        raise ValueError(f"batch_norm got data_format={data_format!r}: give one of {', '.join(_LAYOUTS)}")
    rank = x.shape.rank
    if rank is None or rank < 2:
        raise ValueError(f"batch_norm got a tensor of shape {x.shape}: give one of at least two dimensions")
    channel = 1 if data_format[1] == "C" else rank - 1
    return [axis for axis in range(rank) if axis != channel], [-1 if axis == channel else 1 for axis in range(rank)]


def _inverse_root(x: tf.Tensor) -> tf.Tensor:
    """Return 1 / sqrt(x), not as `rsqrt`.

    Over several dimensions TensorFlow 2.15 takes that for a norm whose weights are constants, and ends the process.
    """
    return tf.math.reciprocal(tf.sqrt(x))


def _moments(x: tf.Tensor, axes: list[int]) -> tuple[tf.Tensor, tf.Tensor]:
    mean = tf.reduce_mean(x, axes, keepdims=True)
    return mean, tf.reduce_mean(tf.math.squared_difference(x, mean), axes, keepdims=True)


def _of_batch(x: tf.Tensor, axes: list[int]) -> tuple[tf.Tensor, tf.Tensor]:
    """Return mean and variance of each channel, of the batches of all ranks where they are one."""
    mean = mean_over(x, axes)
    return mean, mean_over(tf.math.squared_difference(x, spread(mean, x, axes)), axes)


def _scaled(x: tf.Tensor, weight: Any, bias: Any, shape: list[int]) -> tf.Tensor:
    if weight is not None:
        x = x * tf.reshape(tf.convert_to_tensor(weight), shape)
    return x if bias is None else x + tf.reshape(tf.convert_to_tensor(bias), shape)


def _has_one(x: tf.Tensor, axes: list[int]) -> tf.Tensor | None:
    """Return whether x has one element along all axes together, or None where its static shape says that it has not."""
    if any(x.shape[axis] not in {None, 1} for axis in axes):
        return None
    return tf.equal(tf.reduce_prod(tf.gather(tf.shape(x), axes)), 1)


def _run(
    mean: Any,
    variance: Any,
    batch_mean: tf.Tensor,
    batch_variance: tf.Tensor,
    momentum: float,
    alone: tf.Tensor | None,
) -> None:
    """Add the update of running values to the graph's updates; one layer's come one after the other.

    `alone`, a condition or None, is whether the values stay.
    """
    variables = [getattr(value, "variable", value) for value in (mean, variance)]
    key = f"{_UPDATES}/{variables[0].name}"
    with tf.control_dependencies(v1.get_collection(key)):
        for variable, batch in zip(variables, (batch_mean, batch_variance), strict=True):
            before = variable.read_value()
            after = before * momentum + tf.stop_gradient(batch) * (1 - momentum)
            change = v1.assign(variable, after if alone is None else tf.where(alone, before, after))
            if tf.executing_eagerly():
                continue
            v1.add_to_collection(key, change.op)
            v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, change.op)


__all__ = ["batch_norm", "instance_norm", "layer_norm"]
