"""Functions that make tensors from numbers and shapes. By chance: `drawing`."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from runtime.nn.functional.tensors import as_shape, axis_of, dtype_of, rank, size_list, sizes, tensor, with_static


def full(shape: Any, fill_value: Any, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """Return a tensor of one number; without `dtype` it is float32."""
    wanted = size_list(shape)
    value = tf.reshape(tensor(fill_value, dtype_of(dtype, tf.float32)), ())
    return with_static(tf.stop_gradient(tf.fill(as_shape(wanted), value)), wanted)


def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """Return zeros, float32 by default."""
    return full(shape, 0, dtype)


def ones(shape: Any, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """Return ones, float32 by default."""
    return full(shape, 1, dtype)


def empty(shape: Any, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """Return zeros, since no value may be relied on."""
    return full(shape, 0, dtype)


def full_like(x: Any, fill_value: Any, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """Return a tensor of one number with the shape, and without `dtype` also the dtype, of x."""
    x = tensor(x)
    kind = dtype_of(dtype, x.dtype)
    if isinstance(fill_value, (bool, int, float, np.number)):
        number = tf.constant(np.asarray(fill_value).astype(kind.as_numpy_dtype))
    else:
        number = tf.reshape(tensor(fill_value, kind), ())
    return with_static(tf.fill(as_shape(sizes(x)), tf.stop_gradient(number)), sizes(x))


def zeros_like(x: Any, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """Return zeros with the shape of x."""
    return full_like(x, 0, dtype)


def ones_like(x: Any, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """Return ones with the shape of x."""
    return full_like(x, 1, dtype)


def empty_like(x: Any, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """Return zeros with the shape of x, since no value may be relied on."""
    return full_like(x, 0, dtype)


def arange(start: Any = 0, end: Any = None, step: Any = 1, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """Return the numbers from start up to, without, end; int64 if all are ints, else float32."""
    if end is None:
        start, end = 0, start
    ends = [start, end, step]
    if dtype is None:
        whole = all(tensor(value).dtype.is_integer for value in ends)
        dtype = tf.int64 if whole else tf.float32
    start, end, step = (tf.reshape(tensor(value, dtype), ()) for value in ends)
    return tf.range(start, end, step, dtype=dtype_of(dtype))


def linspace(start: Any, stop: Any, num: Any, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """Return `num` numbers at equal distances from start to stop, both included; float32 by default."""
    kind = dtype_of(dtype, tf.float32)
    ends = [tf.reshape(tensor(value, tf.float64), ()) for value in (start, stop)]
    return tf.cast(tf.linspace(*ends, size_list(num)[0]), kind)


def to_tensor(data: Any, dtype: Any = None, place: Any = None, stop_gradient: bool = True) -> tf.Tensor:
    """Return numbers, lists, arrays or tensors as a tensor.

    Args:
        data: Python's ints become int64, its floats float32; arrays keep their dtype.
        dtype: of the result, if another.
        place: has no effect.
        stop_gradient: False lets gradients pass to `data`, if that is a tensor.
    """
    value = tensor(data, dtype)
    return tf.stop_gradient(value) if stop_gradient else tf.identity(value)


def assign(x: Any, output: Any = None) -> tf.Tensor:
    """Return a copy of x. Paddle's `output` is changed in place, which a graph cannot do.

    Raises:
        ValueError: `output` is given.
    """
    if output is not None:
        raise ValueError("assign: a tensor of a graph cannot be changed: use the returned tensor instead of `output`")
    return tf.identity(tensor(x))


def clone(x: Any, name: str | None = None) -> tf.Tensor:
    """Return a copy of x, through which gradients pass."""
    return tf.identity(tensor(x))


def detach(x: Any) -> tf.Tensor:
    """Return x without gradient."""
    return tf.stop_gradient(tensor(x))


def eye(num_rows: int, num_columns: int | None = None, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """Return a matrix with ones on the diagonal, float32 by default."""
    return tf.eye(num_rows, num_columns, dtype=dtype_of(dtype, tf.float32))


def tril(x: Any, diagonal: int = 0, name: str | None = None) -> tf.Tensor:
    """Return matrices with zeros above a diagonal."""
    return _triangle(tensor(x), diagonal, lower=True)


def triu(x: Any, diagonal: int = 0, name: str | None = None) -> tf.Tensor:
    """Return matrices with zeros below a diagonal."""
    return _triangle(tensor(x), diagonal, lower=False)


def _triangle(x: tf.Tensor, diagonal: int, lower: bool) -> tf.Tensor:
    # A comparison of indices, since band_part takes no diagonals beyond the matrix.
    rows = tf.range(tf.shape(x)[-2])[:, None]
    columns = tf.range(tf.shape(x)[-1])[None, :]
    kept = columns - rows <= diagonal if lower else columns - rows >= diagonal
    return with_static(tf.where(kept, x, tf.zeros_like(x)), sizes(x))


def diag(x: Any, offset: int = 0, padding_value: Any = 0, name: str | None = None) -> tf.Tensor:
    """Return a matrix with a vector on a diagonal and padding_value elsewhere, or the diagonal of a matrix."""
    x = tensor(x)
    if rank(x) == 2:
        return tf.linalg.diag_part(x, k=offset)
    # Not `linalg.diag(k=offset)`: its gradient fails where the length is not known.
    before, after = (0, offset) if offset > 0 else (-offset, 0)
    matrix = tf.pad(tf.linalg.diag(x), [[before, after], [after, before]])
    if padding_value == 0:
        return matrix
    places = tf.range(tf.shape(matrix)[0])
    return tf.where(tf.equal(places[None, :] - places[:, None], offset), matrix, tf.cast(padding_value, x.dtype))


def diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None) -> tf.Tensor:
    """Return a diagonal of the matrices in two axes, as the last axis."""
    x = tensor(x)
    first, second = axis_of(axis1, rank(x)), axis_of(axis2, rank(x))
    others = [i for i in range(rank(x)) if i not in (first, second)]
    return tf.linalg.diag_part(tf.transpose(x, [*others, first, second]), k=offset)


__all__ = [
    "arange",
    "assign",
    "clone",
    "detach",
    "diag",
    "diagonal",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "to_tensor",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]
