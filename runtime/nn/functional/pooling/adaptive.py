"""Poolings that divide each dimension into a given number of parts, which may share elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime.nn.functional.windows import channels_last, channels_second, last_is_channel, numbers, size, with_rank

#: For each window of a dimension: the places of its elements, and which of them are elements.
_Places = tuple[tf.Tensor, tf.Tensor]


def without_positions(return_mask: bool) -> None:
    """Refuse to return where the largest elements are.

    Raises:
        ValueError: they are asked for.
    """
    if return_mask:
        raise ValueError("a pooling got return_mask=True: leave it out, only the largest elements are returned")


def adaptive_max_pool1d(x: Any, output_size: Any, return_mask: bool = False, name: str | None = None) -> tf.Tensor:
    """Return the largest element of each of `output_size` parts of sequences [batch, channel, length]."""
    x = tf.expand_dims(with_rank(x, 3, "adaptive_max_pool1d"), 2)
    return tf.squeeze(adaptive_max_pool2d(x, [None, *numbers(output_size, 1, "output_size")], return_mask), 2)


def adaptive_max_pool2d(x: Any, output_size: Any, return_mask: bool = False, name: str | None = None) -> tf.Tensor:
    """Return the largest element of each part of images.

    Columns come before rows, so that of equal elements the first in the order of memory alone gets the gradient;
    `tf.reduce_max` would divide it.

    Args:
        x: [batch, channel, height, width].
        output_size: numbers of parts, one for both or [height, width]; None: that of the elements.
        return_mask: must be False: positions are not returned.
        name: has no effect.

    Returns:
        [batch, channel, *output_size].
    """
    without_positions(return_mask)
    x = with_rank(x, 4, "adaptive_max_pool2d")
    for axis, number in zip((3, 2), reversed(_sizes(output_size)), strict=True):
        within = _windows(x, axis, *_parts(size(x, axis), number), x.dtype.min)
        within = within if axis == 3 else tf.transpose(within, [0, 1, 2, 4, 3])
        chosen = tf.argmax(within, -1, tf.int32)
        x = tf.squeeze(tf.gather(within, chosen[..., None], axis=-1, batch_dims=within.shape.rank - 1), -1)
    return x


def adaptive_avg_pool1d(x: Any, output_size: Any, name: str | None = None) -> tf.Tensor:
    """Return the mean of each of `output_size` parts of sequences [batch, channel, length]; the name has no effect."""
    x = tf.expand_dims(with_rank(x, 3, "adaptive_avg_pool1d"), 2)
    return tf.squeeze(adaptive_avg_pool2d(x, [None, *numbers(output_size, 1, "output_size")]), 2)


def adaptive_avg_pool2d(x: Any, output_size: Any, data_format: str = "NCHW", name: str | None = None) -> tf.Tensor:
    """Return the mean of each part of images.

    Args:
        x: [batch, channel, height, width], or [batch, height, width, channel] with `data_format="NHWC"`.
        output_size: numbers of parts, one for both or [height, width]; None: that of the elements.
        data_format: NCHW or NHWC.
        name: has no effect.
    """
    last = last_is_channel(data_format, "NCHW", "NHWC", "adaptive_avg_pool2d")
    x = with_rank(x, 4, "adaptive_avg_pool2d")
    x = channels_second(x) if last else x
    for dim, number in enumerate(_sizes(output_size)):
        if number is not None:
            places, there = _parts(size(x, 2 + dim), number)
            within = _windows(x, 2 + dim, places, there, 0)
            counts = tf.reduce_sum(tf.cast(there, x.dtype), 1)
            x = tf.reduce_sum(within, 3 + dim) / (counts if dim else counts[:, None])
    return channels_last(x) if last else x


def _windows(x: tf.Tensor, axis: int, places: tf.Tensor, there: tf.Tensor, other: Any) -> tf.Tensor:
    """Return the elements of windows along an axis, which becomes two: windows and elements."""
    elements = tf.gather(x, tf.clip_by_value(places, 0, size(x, axis) - 1), axis=axis)
    for _ in range(x.shape.rank - 1 - axis):
        there = tf.expand_dims(there, -1)
    return tf.where(there, elements, tf.constant(other, x.dtype))


def _parts(length: Any, number: int | None) -> _Places:
    number = length if number is None else number
    part = tf.range(number)
    starts, ends = part * length // number, ((part + 1) * length + number - 1) // number
    # No part is longer than this: its two ends are rounded outwards.
    within = starts[:, None] + tf.range((length + number - 1) // number + 1)
    return within, within < ends[:, None]


def _sizes(output_size: Any) -> list[int | None]:
    if isinstance(output_size, Sequence):
        if len(output_size) != 2:
            raise ValueError(f"output_size={output_size} has {len(output_size)} numbers: give one or two")
        return [None if one is None else int(one) for one in output_size]
    return [int(output_size)] * 2
