"""Masks and padding for sequences of different lengths."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.nn.functional.tensors import as_shape, dtype_of, rank, size_list, tensor


def sequence_mask(x: Any, maxlen: Any = None, dtype: Any = "int64", name: str | None = None) -> tf.Tensor:
    """Return ones up to each length and zeros after it: [..., maxlen].

    Args:
        x: lengths.
        maxlen: None means the largest length.
        dtype: of the result.
        name: not used.
    """
    lengths = tensor(x)
    longest = tf.cast(tf.reduce_max(lengths), tf.int32) if maxlen is None else size_list(maxlen)[0]
    places = tf.range(longest)
    if lengths.dtype.is_floating:
        places = tf.cast(places, lengths.dtype)
        return tf.cast(places < lengths[..., None], dtype_of(dtype))
    return tf.cast(tf.cast(places, tf.int64) < tf.cast(lengths, tf.int64)[..., None], dtype_of(dtype))


def pad(
    x: Any,
    pad: Any,
    mode: str = "constant",
    value: float = 0.0,
    data_format: str = "NCHW",
    name: str | None = None,
) -> tf.Tensor:
    """Return x with elements added at both ends of axes.

    Args:
        x: tensor.
        pad: (before, after) of each axis of x in order, if it has an item for each side of each; else of the spatial
            axes of `data_format`, the last one first.
        mode: "constant", "reflect", "replicate" or "circular"; the last three for spatial axes.
        value: of added elements with "constant".
        data_format: where the spatial axes are, such as "NCL", "NLC", "NCHW", "NHWC".
        name: not used.
    """
    x = tensor(x)
    amounts = size_list(pad)
    if mode == "constant" and len(amounts) == 2 * rank(x):
        pairs = [amounts[2 * i : 2 * i + 2] for i in range(rank(x))]
    else:
        first = 1 if data_format.endswith("C") else 2
        pairs = [[0, 0] for _ in range(rank(x))]
        last = first + rank(x) - 3
        for i in range(len(amounts) // 2):
            pairs[last - i] = amounts[2 * i : 2 * i + 2]
    if mode == "constant":
        return tf.pad(x, _paddings(pairs), constant_values=tf.cast(value, x.dtype))
    if mode == "reflect":
        return tf.pad(x, _paddings(pairs), "REFLECT")
    for axis, (before, after) in enumerate(pairs):
        x = _extended(x, axis, before, after, mode)
    return x


def _paddings(pairs: list[Any]) -> Any:
    if all(isinstance(amount, int) for pair in pairs for amount in pair):
        return pairs
    return tf.stack([as_shape(pair) for pair in pairs])


def _extended(x: tf.Tensor, axis: int, before: Any, after: Any, mode: str) -> tf.Tensor:
    if isinstance(before, int) and isinstance(after, int) and before == after == 0:
        return x
    if mode not in ("replicate", "circular"):
        raise ValueError(f"pad: there is no mode {mode!r}: give one of constant, reflect, replicate, circular")
    size = tf.shape(x)[axis]
    places = tf.range(-before, size + after)
    places = tf.clip_by_value(places, 0, size - 1) if mode == "replicate" else tf.math.floormod(places, size)
    result = tf.gather(x, places, axis=axis)
    if x.shape[axis] is not None and isinstance(before, int) and isinstance(after, int):
        shape = x.shape.as_list()
        shape[axis] += before + after
        result.set_shape(shape)
    return result


__all__ = ["pad", "sequence_mask"]
