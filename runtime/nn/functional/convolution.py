"""Convolutions, with weights in Paddle's layout [out, in / groups, ...]."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.nn.functional.per_channel import spread
from runtime.nn.functional.windows import (
    channels_last,
    channels_second,
    last_is_channel,
    numbers,
    padded,
    padding_of,
    pairs_of,
    size,
    with_rank,
)


def conv1d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NCL",
    name: str | None = None,
) -> tf.Tensor:
    """Return the convolution of sequences.

    Args:
        x: [batch, in, length], or [batch, length, in] with `data_format="NLC"`.
        weight: [out, in / groups, kernel].
        bias: [out], or None.
        stride: steps between outputs.
        padding: zeros on both sides; [before, after]; "same" or "valid". With "same" there is no dilation, whatever is
            given.
        dilation: steps between the inputs of one output.
        groups: parts of the channels that do not see each other.
        data_format: NCL or NLC.
        name: has no effect.

    Raises:
        ValueError: an argument is out of its range, or shapes do not fit.
    """
    last = last_is_channel(data_format, "NCL", "NLC", "conv1d")
    return _convolution(with_rank(x, 3, "conv1d"), weight, bias, (stride, padding, dilation), groups, last)


def conv2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NCHW",
    name: str | None = None,
) -> tf.Tensor:
    """Return the convolution of images.

    Args:
        x: [batch, in, height, width], or [batch, height, width, in] with `data_format="NHWC"`.
        weight: [out, in / groups, height, width].
        bias: [out], or None.
        stride: steps between outputs, one number or [height, width].
        padding: zeros on both sides; [height, width]; [top, bottom, left, right]; "same" or "valid". With "same"
            there is no dilation, whatever is given.
        dilation: steps between the inputs of one output.
        groups: parts of the channels that do not see each other.
        data_format: NCHW or NHWC.
        name: has no effect.

    Raises:
        ValueError: an argument is out of its range, or shapes do not fit.
    """
    last = last_is_channel(data_format, "NCHW", "NHWC", "conv2d")
    return _convolution(with_rank(x, 4, "conv2d"), weight, bias, (stride, padding, dilation), groups, last)


def _convolution(
    x: tf.Tensor, weight: Any, bias: Any, steps: tuple[Any, Any, Any], groups: int, channel_last: bool
) -> tf.Tensor:
    dims = x.shape.rank - 2
    stride, dilation = numbers(steps[0], dims, "stride"), numbers(steps[2], dims, "dilation")
    padding = padding_of(steps[1], dims, channel_last)
    weight = tf.convert_to_tensor(weight)
    _check_channels(x.shape[-1 if channel_last else 1], weight.shape, groups)
    x = x if channel_last else channels_last(x)
    weight = tf.transpose(weight, [*range(2, dims + 2), 1, 0])
    if padding == "SAME":
        dilation = [1] * dims
    pairs = pairs_of(padding, [size(x, 1 + dim) for dim in range(dims)], weight.shape[:dims].as_list(), stride)
    x = padded(x, pairs)
    parts = zip(tf.split(x, groups, -1), tf.split(weight, groups, -1), strict=True)
    outputs = [_plain(part, kernel, stride, dilation) for part, kernel in parts]
    out = outputs[0] if groups == 1 else tf.concat(outputs, -1)
    if bias is not None:
        axes = list(range(dims + 1))
        out = out + spread(tf.reshape(tf.convert_to_tensor(bias), [*[1] * len(axes), -1]), out, axes)
    return out if channel_last else channels_second(out)


def _plain(x: tf.Tensor, kernel: tf.Tensor, stride: list[int], dilation: list[int]) -> tf.Tensor:
    if max(dilation) == 1:
        return tf.nn.convolution(x, kernel, strides=stride, padding="VALID")
    # TensorFlow has no kernel for both: outputs between the strides are left out afterwards.
    dense = tf.nn.convolution(x, kernel, padding="VALID", dilations=dilation)
    kept = (slice(None), *(slice(None, None, step) for step in stride))
    return dense if max(stride) == 1 else dense[kept]


def _check_channels(channels: int | None, weight: tf.TensorShape, groups: int) -> None:
    if groups <= 0:
        raise ValueError(f"a convolution got groups={groups}: give a number from 1")
    if channels is None:
        raise ValueError("a convolution got an input with an unknown number of channels: set it with tf.ensure_shape")
    if channels != weight[1] * groups or weight[0] % groups:
        raise ValueError(
            f"a convolution of {groups} groups got {channels} channels and a weight of shape {weight.as_list()}: the "
            "weight needs a part of the channels, and outputs that can be divided into the groups"
        )


def wrapped(x: tf.Tensor, width: list[int], mode: str, channel_last: bool) -> tf.Tensor:
    """Extend the spatial dimensions on both sides by values of the input.

    Args:
        x: a batch of sequences or images.
        width: how many are added on each side, for each spatial dimension.
        mode: "reflect" mirrors at the border element, "replicate" repeats it, "circular" goes on at the other end.
        channel_last: whether the channel is the last dimension.
    """
    for dim, more in enumerate(width):
        axis = dim + (1 if channel_last else 2)
        length = size(x, axis)
        places = tf.range(-more, length + more)
        if mode == "circular":
            places = tf.math.floormod(places, length)
        elif mode == "replicate":
            places = tf.clip_by_value(places, 0, length - 1)
        else:
            places = length - 1 - tf.abs(length - 1 - tf.abs(places))
        x = tf.gather(x, places, axis=axis) if more else x
    return x


__all__ = ["conv1d", "conv2d"]
