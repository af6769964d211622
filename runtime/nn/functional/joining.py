"""Functions that join tensors, cut them into parts, and move elements along axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from runtime.nn.functional.tensors import (
    as_shape,
    axes_of,
    axis_of,
    rank,
    size_list,
    sizes,
    static,
    tensor,
    with_static,
)


def concat(x: Any, axis: Any = 0, name: str | None = None) -> tf.Tensor:
    """Return a list of tensors of one dtype one after the other along an axis."""
    parts = _list(x)
    along = axis_of(axis, rank(parts[0]))
    return tf.concat([part if rank(part) else tf.reshape(part, [1]) for part in parts], along)


def stack(x: Any, axis: int = 0, name: str | None = None) -> tf.Tensor:
    """Return a list of tensors of one shape side by side along a new axis."""
    return tf.stack(_list(x), axis)


def _list(x: Any) -> list[tf.Tensor]:
    return [tensor(part) for part in x] if isinstance(x, (list, tuple)) else [tensor(x)]


def split(x: Any, num_or_sections: Any, axis: Any = 0, name: str | None = None) -> list[tf.Tensor]:
    """Return parts along an axis.

    Args:
        x: tensor.
        num_or_sections: how many equal parts, or the size of each, one of which may be -1.
        axis: of the cuts.
        name: not used.
    """
    x = tensor(x)
    along = axis_of(axis, rank(x))
    if isinstance(num_or_sections, (int, np.integer)):
        return list(tf.split(x, int(num_or_sections), along))
    parts = size_list(num_or_sections)
    own = sizes(x)[along]
    if -1 in static(parts):
        rest = own
        for size in parts:
            rest = rest - (size if not (isinstance(size, int) and size == -1) else 0)
        parts[static(parts).index(-1)] = rest
    pieces = tf.split(x, as_shape(parts), along, num=len(parts))
    around = x.shape.as_list()
    return [
        with_static(piece, [*around[:along], size, *around[along + 1 :]])
        for piece, size in zip(pieces, parts, strict=True)
    ]


def chunk(x: Any, chunks: int, axis: Any = 0, name: str | None = None) -> list[tf.Tensor]:
    """Return `chunks` equal parts along an axis."""
    return split(x, chunks, axis)


def unbind(input: Any, axis: int = 0) -> list[tf.Tensor]:
    """Return the parts of size 1 along an axis, without that axis; its size must be known."""
    x = tensor(input)
    return unstack(x, axis)


def unstack(x: Any, axis: int = 0, num: int | None = None) -> list[tf.Tensor]:
    """Return the parts of size 1 along an axis, without that axis.

    Raises:
        ValueError: the size of the axis is not known and `num` not given.
    """
    x = tensor(x)
    along = axis_of(axis, rank(x))
    if num is None and x.shape[along] is None:
        raise ValueError(f"unstack: the size of axis {along} of {x.name} is not known: give `num`")
    return list(tf.unstack(x, num, along))


def slice(input: Any, axes: Any, starts: Any, ends: Any) -> tf.Tensor:
    """Return the elements from `starts` up to `ends` along `axes`; negative ones count from the end."""
    return strided_slice(input, axes, starts, ends, [1] * len(list(axes)))


def _range(start: Any, stop: Any, step: Any = None) -> Any:
    # TensorFlow's constants of an index are int32; a stop beyond any size means the end.
    if isinstance(stop, int) and stop > 2**31 - 1:
        stop = None
    if isinstance(start, int) and start < -(2**31):
        start = None
    return np.s_[start:stop:step]


def strided_slice(x: Any, axes: Any, starts: Any, ends: Any, strides: Any, name: str | None = None) -> tf.Tensor:
    """Return every `strides`-th element from `starts` up to `ends` along `axes`."""
    x = tensor(x)
    ranges = zip(size_list(starts), size_list(ends), size_list(strides), strict=True)
    bounds = dict(zip(axes_of(list(axes), rank(x)), ranges, strict=True))
    return x[tuple(_range(*bounds[i]) if i in bounds else _range(None, None) for i in range(rank(x)))]


def flip(x: Any, axis: Any, name: str | None = None) -> tf.Tensor:
    """Return x with the elements along the axes in reverse order."""
    x = tensor(x)
    return tf.reverse(x, axes_of(axis, rank(x)))


def roll(x: Any, shifts: Any, axis: Any = None, name: str | None = None) -> tf.Tensor:
    """Return x with the elements moved along the axes, the last ones to the front; no axis: flattened."""
    x = tensor(x)
    moved = size_list(shifts)
    if axis is None:
        flat = tf.roll(tf.reshape(x, [-1]), moved[0], 0)
        return with_static(tf.reshape(flat, as_shape(sizes(x))), sizes(x))
    return tf.roll(x, moved, axes_of(axis, rank(x)))


def repeat_interleave(x: Any, repeats: Any, axis: Any = None, name: str | None = None) -> tf.Tensor:
    """Return x with each element along the axis repeated; no axis: flattened."""
    x = tensor(x)
    times = repeats if isinstance(repeats, int) else tensor(repeats)
    if axis is None:
        x, axis = tf.reshape(x, [-1]), 0
    result = tf.repeat(x, times, axis_of(axis, rank(x)))
    known = x.shape[axis_of(axis, rank(x))]
    shape = x.shape.as_list()
    shape[axis_of(axis, rank(x))] = known * times if known is not None and isinstance(times, int) else None
    return with_static(result, shape)


def meshgrid(*args: Any, **kwargs: Any) -> list[tf.Tensor]:
    """Return for each 1-D tensor its values along its axis of the grid of all."""
    inputs = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    return list(tf.meshgrid(*[tensor(x) for x in inputs], indexing="ij"))


def broadcast_tensors(input: Any, name: str | None = None) -> list[tf.Tensor]:
    """Return all tensors broadcast to one shape."""
    tensors = [tensor(x) for x in input]
    shape, known = tf.shape(tensors[0]), tensors[0].shape
    for x in tensors[1:]:
        shape, known = tf.broadcast_dynamic_shape(shape, tf.shape(x)), tf.broadcast_static_shape(known, x.shape)
    return [tf.ensure_shape(tf.broadcast_to(x, shape), known) for x in tensors]


def diff(
    x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None, name: str | None = None
) -> tf.Tensor:
    """Return the differences of neighbours along an axis, n times."""
    ends = [tensor(x)]
    ends = ([tensor(prepend)] if prepend is not None else []) + ends + ([tensor(append)] if append is not None else [])
    values = tf.concat(ends, axis) if len(ends) > 1 else ends[0]
    for _ in range(n):
        dimensions = rank(values)
        along = axis_of(axis, dimensions)
        later = values[tuple(np.s_[1:] if i == along else np.s_[:] for i in range(dimensions))]
        sooner = values[tuple(np.s_[:-1] if i == along else np.s_[:] for i in range(dimensions))]
        values = later - sooner
    return values


__all__ = [
    "broadcast_tensors",
    "chunk",
    "concat",
    "diff",
    "flip",
    "meshgrid",
    "repeat_interleave",
    "roll",
    "slice",
    "split",
    "stack",
    "strided_slice",
    "unbind",
    "unstack",
]
