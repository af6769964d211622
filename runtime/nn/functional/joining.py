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
    x = tensor(input)
    bounds = dict(zip(axes_of(list(axes), rank(x)), zip(size_list(starts), size_list(ends), strict=True), strict=True))
    return x[tuple(_range(*bounds[i]) if i in bounds else _range(None, None) for i in range(rank(x)))]


def _range(start: Any, stop: Any, step: Any = None) -> Any:
    # TensorFlow's constants of an index are int32; a stop beyond any size means the end.
    if isinstance(stop, int) and stop > 2**31 - 1:
        stop = None
    if isinstance(start, int) and start < -(2**31):
        start = None
    return np.s_[start:stop:step]


def flip(x: Any, axis: Any, name: str | None = None) -> tf.Tensor:
    """Return x with the elements along the axes in reverse order."""
    x = tensor(x)
    return tf.reverse(x, axes_of(axis, rank(x)))


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


__all__ = [
    "chunk",
    "concat",
    "flip",
    "repeat_interleave",
    "slice",
    "split",
    "stack",
    "unbind",
    "unstack",
]
