"""Poolings that divide each dimension into a given number of parts, which may share elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime.nn.functional.windows import channels_last, channels_second, last_is_channel, numbers, size, with_rank

#: For each window of a dimension: the places of its elements, and which of them are elements.
_Places = tuple[tf.Tensor, tf.Tensor]


def adaptive_max_pool1d(x: Any, output_size: Any, return_mask: bool = False, name: str | None = None) -> Any:
    """Return the largest element of each of `output_size` parts of sequences.

    Args:
        x: [batch, channel, length].
        output_size: number of parts.
        return_mask: whether positions are returned, too.
        name: has no effect.

    Returns:
        [batch, channel, output_size]; with `return_mask` a pair of it and int32 positions of the same shape.
    """
    x = tf.expand_dims(with_rank(x, 3, "adaptive_max_pool1d"), 2)
    found = adaptive_max_pool2d(x, [None, *numbers(output_size, 1, "output_size")], True)
    values, positions = (tf.squeeze(one, 2) for one in found)
    return (values, positions) if return_mask else values


def adaptive_max_pool2d(x: Any, output_size: Any, return_mask: bool = False, name: str | None = None) -> Any:
    """Return the largest element of each part of images.

    Args:
        x: [batch, channel, height, width].
        output_size: numbers of parts, one for both or [height, width]; None: that of the elements.
        return_mask: whether positions are returned, too, row * width + column.
        name: has no effect.

    Returns:
        [batch, channel, *output_size]; with `return_mask` a pair of it and int32 positions of the same shape.
    """
    x = with_rank(x, 4, "adaptive_max_pool2d")
    values, positions = first_largest(x, [_parts(size(x, 2 + dim), n) for dim, n in enumerate(_sizes(output_size))])
    return (values, positions) if return_mask else values


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


def first_largest(x: tf.Tensor, places: Sequence[_Places]) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the largest element of each window, and where it is: row * width + column.

    Columns come before rows, so that of equal elements the first in the order of memory is found, which alone gets the
    gradient; `tf.reduce_max` would divide it.

    Args:
        x: [batch, channel, height, width].
        places: for rows and columns: the places of each window's elements, and which of them are elements.
    """
    width = size(x, 3)
    (row_places, rows_there), (column_places, columns_there) = places
    within = _windows(x, 3, column_places, columns_there, x.dtype.min)
    chosen = tf.argmax(within, -1, tf.int32)
    values, columns = _chosen(within, chosen), column_places[:, 0] + chosen

    within = _windows(values, 2, row_places, rows_there, x.dtype.min)
    chosen = tf.argmax(within, 3, tf.int32)
    columns = _chosen(_elements_last(_windows(columns, 2, row_places, rows_there, 0)), chosen)
    return _chosen(_elements_last(within), chosen), (row_places[:, :1] + chosen) * width + columns


def _elements_last(within: tf.Tensor) -> tf.Tensor:
    return tf.transpose(within, [0, 1, 2, 4, 3])


def _windows(x: tf.Tensor, axis: int, places: tf.Tensor, there: tf.Tensor, other: Any) -> tf.Tensor:
    """Return the elements of windows along an axis, which becomes two: windows and elements."""
    found = tf.gather(x, tf.clip_by_value(places, 0, size(x, axis) - 1), axis=axis)
    for _ in range(x.shape.rank - 1 - axis):
        there = tf.expand_dims(there, -1)
    return tf.where(there, found, tf.constant(other, x.dtype))


def _chosen(within: tf.Tensor, chosen: tf.Tensor) -> tf.Tensor:
    return tf.squeeze(tf.gather(within, chosen[..., None], axis=-1, batch_dims=within.shape.rank - 1), -1)


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
