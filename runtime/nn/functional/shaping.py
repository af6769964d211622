"""Functions that give elements another shape: reshape, flatten, squeeze, transpose, broadcasts."""

from __future__ import annotations

from typing import Any

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


def reshape(x: Any, shape: Any, name: str | None = None) -> tf.Tensor:
    """Return the elements in another shape.

    Args:
        x: tensor.
        shape: ints and scalar tensors: 0 copies the size of x at this place, and one -1 is computed; or a 1-D tensor.
        name: not used.
    """
    x = tensor(x)
    own = sizes(x)
    wanted = size_list(shape)
    for i, size in enumerate(wanted):
        if isinstance(size, int) and size == 0 and i < len(own):
            wanted[i] = own[i]
        elif not isinstance(size, int):
            wanted[i] = _own_size(x, size, own)
    if -1 in static(wanted):
        wanted[static(wanted).index(-1)] = _remaining(own, wanted)
    known = [None if size == -1 else size for size in static(wanted)]
    return with_static(tf.reshape(x, as_shape(wanted)), known)


def _own_size(x: tf.Tensor, size: tf.Tensor, own: list[Any]) -> Any:
    """Return the item of `own` that `size` is read from, where it is `tf.shape(x)[i]`; else `size`."""
    op = size.op
    while op.type in ("Reshape", "Cast", "Identity"):
        op = op.inputs[0].op
    if op.type != "StridedSlice" or op.inputs[0].op.type != "Shape" or op.inputs[0].op.inputs[0] is not x:
        return size
    begin = tf.get_static_value(op.inputs[1])
    return size if begin is None or not op.get_attr("shrink_axis_mask") else own[int(begin[0])]


def _remaining(own: list[Any], wanted: list[Any]) -> int:
    """Return the size that -1 stands for, where sizes that are not known are on both sides; else -1."""
    unknown = [size for size in own if not isinstance(size, int)]
    left = 1
    for size in own:
        left *= size if isinstance(size, int) else 1
    for size in wanted:
        if isinstance(size, int):
            left = left // size if size > 0 else left
        elif any(size is other for other in unknown):
            unknown = [other for other in unknown if other is not size]
        else:
            return -1
    return -1 if unknown else left


def view(x: Any, shape_or_dtype: Any, name: str | None = None) -> tf.Tensor:
    """Return the elements in another shape, as `reshape`."""
    return reshape(x, shape_or_dtype)


def flatten(x: Any, start_axis: int = 0, stop_axis: int = -1, name: str | None = None) -> tf.Tensor:
    """Return x with the axes from start_axis to stop_axis made one; a 0-d tensor becomes [1]."""
    x = tensor(x)
    if not rank(x):
        return tf.reshape(x, [1])
    start, stop = axis_of(start_axis, rank(x)), axis_of(stop_axis, rank(x))
    if start == stop:
        return tf.identity(x)
    own = sizes(x)
    merged = 1 if all(isinstance(size, int) for size in own[start : stop + 1]) else -1
    for size in own[start : stop + 1] if merged == 1 else []:
        merged *= size
    result = tf.reshape(x, as_shape([*own[:start], merged, *own[stop + 1 :]]))
    return with_static(result, [*own[:start], None if merged == -1 else merged, *own[stop + 1 :]])


def squeeze(x: Any, axis: Any = None, name: str | None = None) -> tf.Tensor:
    """Return x without the axes of size 1.

    Args:
        x: tensor. A size that is not known when the graph is built counts as one that is not 1.
        axis: only these axes; one whose size is not 1 stays.
        name: not used.
    """
    x = tensor(x)
    dropped = sorted({i for i in axes_of(axis, rank(x)) if static(sizes(x))[i] == 1})
    return tf.squeeze(x, dropped) if dropped else tf.identity(x)


def unsqueeze(x: Any, axis: Any, name: str | None = None) -> tf.Tensor:
    """Return x with axes of size 1 added: one after the other, each counted in the shape made so far."""
    x = tensor(x)
    for dim in axis if isinstance(axis, (list, tuple)) else size_list(axis):
        x = tf.expand_dims(x, size_list(dim)[0])
    return x


def transpose(x: Any, perm: Any, name: str | None = None) -> tf.Tensor:
    """Return x with its axes in the order `perm`."""
    x = tensor(x)
    return tf.transpose(x, [axis_of(axis, rank(x)) for axis in perm])


def t(input: Any, name: str | None = None) -> tf.Tensor:
    """Return a matrix transposed; a tensor of fewer dimensions stays.

    Raises:
        ValueError: `input` has more than two dimensions.
    """
    x = tensor(input)
    if rank(x) > 2:
        raise ValueError(f"t: the tensor has {rank(x)} dimensions, and at most 2 are allowed: use transpose")
    return tf.transpose(x)


def moveaxis(x: Any, source: Any, destination: Any, name: str | None = None) -> tf.Tensor:
    """Return x with the axes `source` at the places `destination`, the others in their order."""
    x = tensor(x)
    moved = axes_of(source, rank(x))
    places = dict(zip(axes_of(destination, rank(x)), moved, strict=True))
    others = iter([i for i in range(rank(x)) if i not in moved])
    return tf.transpose(x, [places[i] if i in places else next(others) for i in range(rank(x))])


def tile(x: Any, repeat_times: Any, name: str | None = None) -> tf.Tensor:
    """Return x repeated along each axis; the shorter one of its shape and `repeat_times` gets ones in front."""
    x = tensor(x)
    times = size_list(repeat_times)
    for _ in range(len(times) - rank(x)):
        x = tf.expand_dims(x, 0)
    times = [1] * (rank(x) - len(times)) + times
    result = tf.tile(x, as_shape(times))
    known = [
        a * b if a is not None and b is not None else None for a, b in zip(static(sizes(x)), static(times), strict=True)
    ]
    return with_static(result, known)


def expand(x: Any, shape: Any, name: str | None = None) -> tf.Tensor:
    """Return x broadcast to a shape, in which -1 keeps the size of x."""
    x = tensor(x)
    wanted = size_list(shape)
    own = [1] * (len(wanted) - rank(x)) + sizes(x)
    wanted = [own[i] if isinstance(size, int) and size == -1 else size for i, size in enumerate(wanted)]
    return with_static(tf.broadcast_to(x, as_shape(wanted)), wanted)


broadcast_to = expand


def expand_as(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return x broadcast to the shape of y."""
    return expand(x, sizes(tensor(y)))


def shape(input: Any) -> tf.Tensor:
    """Return the sizes; int32 of shape [number of dimensions]."""
    return tf.shape(tensor(input))


def broadcast_shape(x_shape: Any, y_shape: Any) -> list[int]:
    """Return the shape to which two shapes, lists of ints, broadcast."""
    return list(tf.broadcast_static_shape(tf.TensorShape(x_shape), tf.TensorShape(y_shape)).as_list())


__all__ = [
    "broadcast_shape",
    "broadcast_to",
    "expand",
    "expand_as",
    "flatten",
    "moveaxis",
    "reshape",
    "shape",
    "squeeze",
    "t",
    "tile",
    "transpose",
    "unsqueeze",
    "view",
]
