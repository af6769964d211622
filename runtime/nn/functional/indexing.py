"""Functions that pick elements by index, mask or order."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from runtime.nn.functional.tensors import as_shape, axis_of, rank, size_list, sizes, tensor, with_static


def gather(x: Any, index: Any, axis: Any = None, name: str | None = None) -> tf.Tensor:
    """Return the parts of x at the indices along an axis.

    Args:
        x: tensor.
        index: ints [n], [n, 1] or 0-d; the last drops the axis.
        axis: None means 0. The gradient is right for other axes too, where Paddle's on a CPU is not.
        name: not used.
    """
    x, indices = tensor(x), tensor(index)
    if rank(indices) == 2:
        indices = tf.squeeze(indices, [1])
    return tf.gather(x, indices, axis=axis_of(0 if axis is None else axis, rank(x)))


def gather_nd(x: Any, index: Any, name: str | None = None) -> tf.Tensor:
    """Return the parts of x at the multi-indices in the last axis of `index`; negative ones count from the end."""
    x, indices = tensor(x), tensor(index)
    if not indices.shape[-1]:
        return tf.gather_nd(x, indices)
    limits = tf.cast(tf.shape(x)[: indices.shape[-1]], indices.dtype)
    return tf.gather_nd(x, tf.where(indices < 0, indices + limits, indices))


def index_select(x: Any, index: Any, axis: int = 0, name: str | None = None) -> tf.Tensor:
    """Return the parts of x at the indices [n] along an axis."""
    x = tensor(x)
    return tf.gather(x, _from_front(tensor(index), sizes(x)[axis_of(axis, rank(x))]), axis=axis_of(axis, rank(x)))


def _from_front(indices: tf.Tensor, size: Any) -> tf.Tensor:
    return tf.where(indices < 0, indices + tf.cast(size, indices.dtype), indices)


def masked_select(x: Any, mask: Any, name: str | None = None) -> tf.Tensor:
    """Return the elements at which the mask, of the same shape, is true; 1-D."""
    x, chosen = tensor(x), tensor(mask)
    if rank(x) != rank(chosen):
        shape = tf.broadcast_dynamic_shape(tf.shape(x), tf.shape(chosen))
        x, chosen = tf.broadcast_to(x, shape), tf.broadcast_to(chosen, shape)
    return tf.boolean_mask(tf.reshape(x, [-1]), tf.reshape(chosen, [-1]))


def nonzero(x: Any, as_tuple: bool = False) -> Any:
    """Return the indices of the elements that are not 0: int64 [n, dimensions], or for each dimension [n, 1]."""
    x = tensor(x)
    where = tf.where(tf.cast(x, tf.bool))
    return tuple(where[:, i : i + 1] for i in range(rank(x))) if as_tuple else where


def take_along_axis(arr: Any, indices: Any, axis: int, broadcast: bool = True) -> tf.Tensor:
    """Return the elements of arr at the indices along an axis; in the other axes both broadcast."""
    x, index = tensor(arr), tensor(indices)
    along = axis_of(axis, rank(x))
    if broadcast:
        shape = [_wider(a, b) for a, b in zip(sizes(x), sizes(index), strict=True)]
        x = _broadcast(x, [sizes(x)[along] if i == along else size for i, size in enumerate(shape)])
        index = _broadcast(index, [sizes(index)[along] if i == along else size for i, size in enumerate(shape)])
    else:
        x = x[tuple(np.s_[:] if i == along else np.s_[:size] for i, size in enumerate(sizes(index)))]
    return _back(tf.gather(_last(x, along), _last(index, along), batch_dims=rank(x) - 1), along)


def _wider(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    if isinstance(a, int) and a == 1:
        return b
    if isinstance(b, int) and b == 1:
        return a
    return tf.maximum(a, b)


def _broadcast(x: tf.Tensor, shape: list[Any]) -> tf.Tensor:
    return with_static(tf.broadcast_to(x, as_shape(shape)), shape)


def _last(x: tf.Tensor, axis: int) -> tf.Tensor:
    return tf.transpose(x, [i for i in range(rank(x)) if i != axis] + [axis])


def _back(x: tf.Tensor, axis: int) -> tf.Tensor:
    order = list(range(rank(x) - 1))
    return tf.transpose(x, [*order[:axis], rank(x) - 1, *order[axis:]])


def index_sample(x: Any, index: Any) -> tf.Tensor:
    """Return for each row of x the elements at the row of indices."""
    return tf.gather(tensor(x), tensor(index), batch_dims=1)


def scatter(x: Any, index: Any, updates: Any, overwrite: bool = True, name: str | None = None) -> tf.Tensor:
    """Return x with other rows at the indices.

    Args:
        x: tensor.
        index: ints [n] or [n, 1]: rows.
        updates: the rows [n, ...].
        overwrite: False: rows at the indices start from 0, and updates of one row are added.
        name: not used.
    """
    x, indices, rows = tensor(x), tf.reshape(tensor(index), [-1, 1]), tensor(updates)
    if overwrite:
        return tf.tensor_scatter_nd_update(x, indices, rows)
    cleared = tf.tensor_scatter_nd_update(x, indices, tf.zeros_like(rows))
    return tf.tensor_scatter_nd_add(cleared, indices, rows)


def scatter_nd_add(x: Any, index: Any, updates: Any, name: str | None = None) -> tf.Tensor:
    """Return x with updates added at the multi-indices in the last axis of `index`."""
    return tf.tensor_scatter_nd_add(tensor(x), tensor(index), tensor(updates))


def scatter_nd(index: Any, updates: Any, shape: Any, name: str | None = None) -> tf.Tensor:
    """Return zeros of a shape with updates added at the multi-indices in the last axis of `index`."""
    indices = tensor(index)
    return tf.scatter_nd(indices, tensor(updates), tf.cast(as_shape(size_list(shape)), indices.dtype))


def put_along_axis(
    arr: Any,
    indices: Any,
    values: Any,
    axis: int,
    reduce: str = "assign",
    include_self: bool = True,
    broadcast: bool = True,
) -> tf.Tensor:
    """Return arr with values put at the indices along an axis.

    Args:
        arr: tensor.
        indices: ints with as many dimensions; in the other axes they broadcast to the sizes of arr.
        values: a number, or a tensor that broadcasts to the indices.
        axis: of the indices.
        reduce: "assign" or "add".
        include_self: False: elements to which values are added start from 0.
        broadcast: False: indices are taken as they are.

    Raises:
        ValueError: `reduce` is another word.
    """
    if reduce not in ("assign", "add"):
        raise ValueError(f"put_along_axis: there is no reduction {reduce!r} here: give assign or add")
    x, index = tensor(arr), tensor(indices)
    along = axis_of(axis, rank(x))
    shape = [sizes(index)[along] if i == along else size for i, size in enumerate(sizes(x))]
    shape = shape if broadcast else sizes(index)
    index = _broadcast(index, shape)
    put = _broadcast(tensor(values, x.dtype), shape)
    ranges = [tf.range(size, dtype=index.dtype) for size in map(_as_type(index.dtype), shape)]
    places = list(tf.meshgrid(*ranges, indexing="ij"))
    places[along] = _from_front(index, sizes(x)[along])
    where = tf.stack(places, -1)
    if reduce == "assign":
        return tf.tensor_scatter_nd_update(x, where, put)
    start = x if include_self else tf.tensor_scatter_nd_update(x, where, tf.zeros_like(put))
    return tf.tensor_scatter_nd_add(start, where, put)


def _as_type(dtype: tf.DType) -> Any:
    return lambda size: tf.cast(size, dtype)


def topk(
    x: Any, k: Any, axis: Any = None, largest: bool = True, sorted: bool = True, name: str | None = None
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the k largest (smallest) elements along an axis (None: the last) in order, and their indices as int64."""
    x = tensor(x)
    along = axis_of(-1 if axis is None else axis, rank(x))
    moved = _last(x, along)
    values, indices = tf.math.top_k(moved if largest else -moved, size_list(k)[0], sorted=True)
    return _back(values if largest else -values, along), _back(tf.cast(indices, tf.int64), along)


def argsort(x: Any, axis: int = -1, descending: bool = False, name: str | None = None) -> tf.Tensor:
    """Return the indices that sort x along an axis; int64. Equal elements keep their order."""
    x = tensor(x)
    if not rank(x):
        return tf.zeros([], tf.int64)
    order = "DESCENDING" if descending else "ASCENDING"
    return tf.cast(tf.argsort(x, axis_of(axis, rank(x)), order, stable=True), tf.int64)


def sort(x: Any, axis: int = -1, descending: bool = False, name: str | None = None) -> tf.Tensor:
    """Return x sorted along an axis."""
    x = tensor(x)
    if not rank(x):
        return x
    return tf.sort(x, axis_of(axis, rank(x)), "DESCENDING" if descending else "ASCENDING")


def one_hot(x: Any, num_classes: Any, name: str | None = None) -> tf.Tensor:
    """Return float32 vectors [..., num_classes] that are 1 at the index, and 0 elsewhere."""
    return tf.one_hot(tensor(x), size_list(num_classes)[0], dtype=tf.float32)


def embedding(
    x: Any, weight: Any, padding_idx: int | None = None, sparse: bool = False, name: str | None = None
) -> tf.Tensor:
    """Return the rows of a matrix at the indices.

    Args:
        x: ints of any shape.
        weight: [rows, width].
        padding_idx: this index gives zeros and no gradient; negative ones count from the end.
        sparse: has no effect.
        name: not used.
    """
    ids, rows = tensor(x), tensor(weight)
    embedded = tf.gather(rows, ids)
    if padding_idx is None:
        return embedded
    padding = padding_idx if padding_idx >= 0 else sizes(rows)[0] + padding_idx
    kept = tf.expand_dims(tf.not_equal(ids, tf.cast(padding, ids.dtype)), -1)
    return tf.where(kept, embedded, tf.zeros_like(embedded))


__all__ = [
    "argsort",
    "embedding",
    "gather",
    "gather_nd",
    "index_sample",
    "index_select",
    "masked_select",
    "nonzero",
    "one_hot",
    "put_along_axis",
    "scatter",
    "scatter_nd",
    "scatter_nd_add",
    "sort",
    "take_along_axis",
    "topk",
]
