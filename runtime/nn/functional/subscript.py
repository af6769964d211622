"""`x[index]` as Paddle reads it: ranges with any step, None, ..., ints, lists, tensors of ints, masks."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import tensorflow as tf

from runtime.nn.functional.tensors import rank, sizes, tensor

_LARGEST = 2**31 - 1


def getitem(x: Any, index: Any) -> tf.Tensor:
    """Return `x[index]`.

    Lists, arrays and tensors of ints pick elements: several of them broadcast and pick together, and what they pick
    stands in the place of the first, or in front if a range is between them. A mask of bools picks where it is true.
    """
    x = tensor(x)
    basic: list[Any] = []
    picking: dict[int, Any] = {}
    place = axis = 0
    for part in _complete(index if isinstance(index, tuple) else (index,), rank(x)):
        if _picks(part):
            picked = _indices(part)
            mask = picked.dtype == tf.bool
            width = rank(picked) if mask else 1
            columns = tf.unstack(tf.where(picked), num=width, axis=1) if mask else [picked]
            for i, column in enumerate(columns):
                picking[place + i] = _from_front(column, sizes(x)[axis + i])
            basic += [np.s_[:]] * width
            place, axis = place + width, axis + width
            continue
        basic.append(_basic(part))
        place += 0 if _is_int(part) else 1
        axis += 0 if part is None else 1
    whole = all(isinstance(part, slice) and part == np.s_[:] for part in basic)
    kept = x if whole else _sliced(x, basic)
    return _picked(kept, picking) if picking else kept


def _sliced(x: tf.Tensor, basic: list[Any]) -> tf.Tensor:
    """Return `x[basic]` of ranges, None and ints."""
    if not tf.executing_eagerly() or not all(map(_is_constant, basic)):
        return x[tuple(basic)]
    bounds, masks = _bounds(tuple(_parts(part) for part in basic))
    return tf.strided_slice(x, *bounds, **masks)


def _parts(part: Any) -> Any:
    return (part.start, part.stop, part.step) if isinstance(part, slice) else part


def _is_constant(part: Any) -> bool:
    bounds = _parts(part) if isinstance(part, slice) else (part,)
    return all(bound is None or (isinstance(bound, int) and abs(bound) < _LARGEST) for bound in bounds)


@functools.lru_cache(4096)
def _bounds(parts: tuple[Any, ...]) -> tuple[list[tf.Tensor], dict[str, int]]:
    """Return begin, end and step of each dimension as tensors, which eager code makes once, and the masks."""
    rows, masks = [], dict.fromkeys(("begin_mask", "end_mask", "shrink_axis_mask", "new_axis_mask"), 0)
    for place, part in enumerate(parts):
        first, last, step = part if isinstance(part, tuple) else (0, 0, 1) if part is None else (part, part + 1, 1)
        own = {
            "begin_mask": first is None,
            "end_mask": last is None,
            "shrink_axis_mask": isinstance(part, int),
            "new_axis_mask": part is None,
        }
        for name, is_set in own.items():
            masks[name] |= is_set << place
        rows.append((first or 0, last or 0, 1 if step is None else step))
    return [tf.constant(row, tf.int32) for row in zip(*rows, strict=True)], masks


def _complete(parts: tuple[Any, ...], dimensions: int) -> list[Any]:
    """Return the parts with `...` written out."""
    used = 0
    for part in parts:
        if part is None or part is Ellipsis:
            continue
        used += rank(_indices(part)) if _picks(part) and _indices(part).dtype == tf.bool else 1
    filled = [np.s_[:]] * (dimensions - used)
    for i, part in enumerate(parts):
        if part is Ellipsis:
            return [*parts[:i], *filled, *parts[i + 1 :]]
    return [*parts, *filled]


def _is_int(part: Any) -> bool:
    if isinstance(part, (bool, np.bool_)):
        return False
    if isinstance(part, (int, np.integer)):
        return True
    return isinstance(part, tf.Tensor) and part.shape.rank == 0 and part.dtype.is_integer


def _picks(part: Any) -> bool:
    return not (part is None or part is Ellipsis or isinstance(part, slice) or _is_int(part))


def _indices(part: Any) -> tf.Tensor:
    return tensor(list(part) if isinstance(part, (list, tuple)) else part)


def _basic(part: Any) -> Any:
    if part is None:
        return tf.newaxis
    if isinstance(part, slice):
        return slice(*(_bound(bound) for bound in (part.start, part.stop, part.step)))
    return _bound(part)


def _bound(bound: Any) -> Any:
    if bound is None or isinstance(bound, (int, np.integer)):
        return bound if bound is None else int(bound)
    return tf.reshape(tf.cast(tensor(bound), tf.int32), ())


def _from_front(indices: tf.Tensor, size: Any) -> tf.Tensor:
    indices = tf.cast(indices, tf.int64)
    return tf.where(indices < 0, indices + tf.cast(size, tf.int64), indices)


def _picked(x: tf.Tensor, picking: dict[int, tf.Tensor]) -> tf.Tensor:
    axes = sorted(picking)
    if len(axes) == 1:
        return tf.gather(x, picking[axes[0]], axis=axes[0])
    others = [i for i in range(rank(x)) if i not in picking]
    shape = tf.shape(picking[axes[0]])
    static = picking[axes[0]].shape
    for axis in axes[1:]:
        shape = tf.broadcast_dynamic_shape(shape, tf.shape(picking[axis]))
        static = tf.broadcast_static_shape(static, picking[axis].shape)
    together = tf.stack([tf.broadcast_to(picking[axis], shape) for axis in axes], axis=-1)
    together.set_shape(static.concatenate([len(axes)]))
    result = tf.gather_nd(tf.transpose(x, axes + others), together)
    adjacent = axes == list(range(axes[0], axes[0] + len(axes)))
    if not adjacent or axes[0] == 0:
        return result
    width = int(static.rank)
    order = list(range(rank(result)))
    before = order[width : width + axes[0]]
    return tf.transpose(result, [*before, *order[:width], *order[width + axes[0] :]])


__all__ = [
    "getitem",
]
