"""Poolings with windows of a fixed size."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.nn.functional.pooling.adaptive import without_positions
from runtime.nn.functional.windows import (
    channels_last,
    channels_second,
    is_none,
    last_is_channel,
    numbers,
    padded,
    padding_of,
    pairs_of,
    size,
    with_rank,
)


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
    last, x, kernel, steps, pairs = _windows("max_pool2d", data_format, x, kernel_size, stride, padding, ceil_mode)
    without_positions(return_mask)
    out = tf.nn.max_pool2d(padded(x, pairs, x.dtype.min), kernel, steps, "VALID")
    return out if last else channels_second(out)


def avg_pool1d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    exclusive: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
) -> tf.Tensor:
    """Return the mean of each window of sequences.

    Args:
        x: [batch, channel, length].
        kernel_size: length of a window.
        stride: steps between windows; None: the length.
        padding: zeros on both sides; [before, after]; "same" or "valid".
        exclusive: whether padding does not count in the number of elements.
        ceil_mode: whether a last window that goes beyond the end counts.
        name: has no effect.
    """
    x, kernel, steps, pads = _as_images(with_rank(x, 3, "avg_pool1d"), kernel_size, stride, padding)
    return tf.squeeze(avg_pool2d(x, kernel, steps, pads, ceil_mode, exclusive), 2)


def avg_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    exclusive: bool = True,
    divisor_override: float | None = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> tf.Tensor:
    """Return the mean of each window of images.

    Args:
        x: [batch, channel, height, width], or [batch, height, width, channel] with `data_format="NHWC"`.
        kernel_size: one number or [height, width] of a window.
        stride: steps between windows; None: the sizes of windows.
        padding: zeros on all sides; [height, width]; [top, bottom, left, right]; "same" or "valid".
        ceil_mode: whether a last window that goes beyond the end counts.
        exclusive: whether padding does not count in the number of elements.
        divisor_override: the mean times the size of a window is divided by it.
        data_format: NCHW or NHWC.
        name: has no effect.
    """
    last, x, kernel, steps, pairs = _windows("avg_pool2d", data_format, x, kernel_size, stride, padding, ceil_mode)
    out = tf.nn.avg_pool2d(padded(x, pairs), kernel, steps, "VALID")
    area = kernel[0] * kernel[1]
    if not is_none(pairs):
        rows, columns = (
            _counts(size(x, 1 + dim), size(out, 1 + dim), kernel[dim], steps[dim], pairs[dim][0], exclusive)
            for dim in range(2)
        )
        out *= tf.cast(area / (rows[:, None] * columns), x.dtype)[:, :, None]
    out = out if last else channels_second(out)
    return out if divisor_override is None else out * area / divisor_override


def _as_images(x: tf.Tensor, kernel_size: Any, stride: Any, padding: Any) -> tuple[tf.Tensor, list[int], Any, Any]:
    kernel = [1, *numbers(kernel_size, 1, "kernel_size")]
    steps = None if stride is None else [1, *numbers(stride, 1, "stride")]
    pads = padding_of(padding, 1, False)
    return tf.expand_dims(x, 2), kernel, steps, padding if isinstance(padding, str) else [0, 0, *pads[0]]


def _windows(
    name: str, data_format: str, x: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool
) -> tuple[bool, tf.Tensor, list[int], list[int], list[Any]]:
    """Return whether channels are last, images with channels last, and their windows: sizes, steps and padding."""
    last = last_is_channel(data_format, "NCHW", "NHWC", name)
    x = with_rank(x, 4, name)
    kernel = numbers(kernel_size, 2, "kernel_size")
    steps = numbers(kernel if stride is None else stride, 2, "stride")
    x = x if last else channels_last(x)
    before = pairs_of(_padding(padding, last, ceil_mode), [size(x, 1), size(x, 2)], kernel, steps)
    pairs = [_covering(size(x, 1 + dim), kernel[dim], steps[dim], before[dim], ceil_mode) for dim in range(2)]
    return last, x, kernel, steps, pairs


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


def _counts(length: Any, windows: Any, kernel: int, step: int, before: Any, exclusive: bool) -> tf.Tensor:
    starts = tf.range(windows) * step - before
    if exclusive:
        counts = tf.minimum(starts + kernel, length) - tf.maximum(starts, 0)
    else:
        # Of what lies behind the end, as much counts as there is padding at the beginning: so does Paddle's kernel.
        counts = tf.minimum(starts + kernel, length + before) - starts
    return tf.cast(counts, tf.float64)
