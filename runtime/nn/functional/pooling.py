"""Poolings: of windows of a fixed size, and of a given number of parts."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

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

__all__ = ["adaptive_max_pool1d", "max_pool1d", "max_pool2d"]


def max_pool1d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    name: str | None = None,
) -> tf.Tensor:
    """Return the largest element of each window of sequences.

    Args:
        x: [batch, channel, length].
        kernel_size: length of a window.
        stride: steps between windows; None: the length.
        padding: on both sides; [before, after]; "same" or "valid". Padding is never the largest.
        return_mask: must be False: positions are not returned.
        ceil_mode: whether a last window that goes beyond the end counts.
        name: has no effect.

    Returns:
        [batch, channel, windows]. Of equal elements the first gets the gradient.
    """
    x, kernel, steps, pads = _as_images(with_rank(x, 3, "max_pool1d"), kernel_size, stride, padding)
    return tf.squeeze(max_pool2d(x, kernel, steps, pads, return_mask, ceil_mode), 2)


def max_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    data_format: str = "NCHW",
    name: str | None = None,
) -> tf.Tensor:
    """Return the largest element of each window of images.

    Args:
        x: [batch, channel, height, width], or [batch, height, width, channel] with `data_format="NHWC"`.
        kernel_size: one number or [height, width] of a window.
        stride: steps between windows; None: the sizes of windows.
        padding: on all sides; [height, width]; [top, bottom, left, right]; "same" or "valid". Padding is never the
            largest.
        return_mask: must be False: positions are not returned.
        ceil_mode: whether a last window that goes beyond the end counts.
        data_format: NCHW or NHWC.
        name: has no effect.

    Returns:
        One element a window. Of equal elements the first gets the gradient.
    """
    last = last_is_channel(data_format, "NCHW", "NHWC", "max_pool2d")
    x = with_rank(x, 4, "max_pool2d")
    kernel = numbers(kernel_size, 2, "kernel_size")
    steps = numbers(kernel if stride is None else stride, 2, "stride")
    _without_positions(return_mask)
    x = x if last else channels_last(x)
    before = pairs_of(_padding(padding, last, ceil_mode), [size(x, 1), size(x, 2)], kernel, steps)
    pairs = [_covering(size(x, 1 + dim), kernel[dim], steps[dim], before[dim], ceil_mode) for dim in range(2)]
    out = tf.nn.max_pool2d(padded(x, pairs, x.dtype.min), kernel, steps, "VALID")
    return out if last else channels_second(out)


def adaptive_max_pool1d(x: Any, output_size: Any, return_mask: bool = False, name: str | None = None) -> tf.Tensor:
    """Return the largest element of each part of sequences; the parts may share elements.

    Args:
        x: [batch, channel, length].
        output_size: the number of parts.
        return_mask: must be False: positions are not returned.
        name: has no effect.

    Returns:
        [batch, channel, output_size]. Of equal elements the first gets the gradient.
    """
    _without_positions(return_mask)
    x = with_rank(x, 3, "adaptive_max_pool1d")
    length, part = size(x, 2), tf.range(number := numbers(output_size, 1, "output_size")[0])
    starts, ends = part * length // number, ((part + 1) * length + number - 1) // number
    # No part is longer than this: its two ends are rounded outwards.
    places = starts[:, None] + tf.range((length + number - 1) // number + 1)
    found = tf.gather(x, tf.minimum(places, length - 1), axis=2)
    within = tf.where(places < ends[:, None], found, tf.constant(x.dtype.min, x.dtype))
    chosen = tf.argmax(within, -1, tf.int32)  # `tf.reduce_max` divides a gradient among equal elements
    return tf.squeeze(tf.gather(within, chosen[..., None], axis=-1, batch_dims=3), -1)


def _without_positions(return_mask: bool) -> None:
    if return_mask:
        raise ValueError("a pooling got return_mask=True: leave it out, only the largest elements are returned")


def _as_images(x: tf.Tensor, kernel_size: Any, stride: Any, padding: Any) -> tuple[tf.Tensor, list[int], Any, Any]:
    kernel = [1, *numbers(kernel_size, 1, "kernel_size")]
    steps = None if stride is None else [1, *numbers(stride, 1, "stride")]
    pads = padding_of(padding, 1, False)
    return tf.expand_dims(x, 2), kernel, steps, padding if isinstance(padding, str) else [0, 0, *pads[0]]


def _padding(padding: Any, channel_last: bool, ceil_mode: bool) -> Any:
    if ceil_mode and isinstance(padding, str) and padding.upper() == "VALID":
        raise ValueError("a pooling got padding='valid' with ceil_mode=True: give padding=0, or no ceil_mode")
    return padding_of(padding, 2, channel_last)


def _covering(length: Any, kernel: int, step: int, pair: tuple[Any, Any], ceil_mode: bool) -> tuple[Any, Any]:
    """Return the padding with which whole windows reach the last element that counts.

    One window may be larger than what it moves over, by less than a step: Paddle's quotient is cut towards zero.
    """
    before, after = pair
    free = length - kernel + before + after
    if ceil_mode:
        return before, _quotient(free + step - 1, step) * step + kernel - length - before
    if isinstance(free, int):
        return before, after - free if -step < free < 0 else after
    return before, after + tf.where((free > -step) & (free < 0), -free, 0)


def _quotient(free: Any, step: int) -> Any:
    """Divide as C does."""
    return int(free / step) if isinstance(free, int) else tf.truncatediv(free, step)
