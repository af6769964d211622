"""Ops that change shapes: reshape, concat, split, transpose and so on."""

from __future__ import annotations

import math

from migrate.source.paddle.abstract.values import Extent, Refuse, Size, Tensor, Value
from migrate.source.paddle.ops.shapes import axes_of, axis_of, dtype_name, reshaped, sizes_in, sizes_of, tensor, total
from migrate.source.paddle.ops.spec import Arguments, Form, Op, method


def _no_zero(bound: Arguments) -> bool:
    """Whether TensorFlow takes the shape: no 0, and no -1 beside sizes of the run, which make all others unknown."""
    sizes = bound["shape"]
    return (
        isinstance(sizes, (list, tuple))
        and _plain(sizes)
        and not (-1 in _numbers(sizes) and len(_numbers(sizes)) < len(sizes))
    )


def _plain(sizes: list[Value] | tuple[Value, ...]) -> bool:
    return all(isinstance(size, Size) or (type(size) is int and size != 0) for size in sizes)


def _numbers(sizes: list[Value] | tuple[Value, ...]) -> list[int]:
    return [size for size in sizes if isinstance(size, int)]


def _no_rest(bound: Arguments) -> bool:
    sizes = bound["shape"]
    return isinstance(sizes, (list, tuple)) and _plain(sizes) and -1 not in _numbers(sizes)


def flattened(bound: Arguments) -> Tensor:
    """A result with the dimensions from `start_axis` to `stop_axis` in one."""
    x = tensor(bound["x"])
    if x.shape is None:
        return Tensor(None, x.dtype)
    if not x.shape:
        return Tensor((1,), x.dtype)
    start, stop = axis_of(bound["start_axis"], len(x.shape)), axis_of(bound["stop_axis"], len(x.shape))
    middle = x.shape[start : stop + 1]
    size = math.prod(s for s in middle if s is not None)
    whole = (x.extent or 1) * size if isinstance(x.extent or 1, int) and middle.count(None) == 1 else object()
    shape = (*x.shape[:start], None if None in middle else size, *x.shape[stop + 1 :])
    return Tensor(shape, x.dtype, extent=whole if None in middle else x.extent)


def _unsqueeze(bound: Arguments) -> Tensor:
    x, axis = tensor(bound["x"]), bound["axis"]
    if x.shape is None:
        return x
    shape = list(x.shape)
    for item in axis if isinstance(axis, (list, tuple)) else [axis]:
        shape.insert(axis_of(item, len(shape) + 1), 1)
    return Tensor(tuple(shape), x.dtype)


def _squeeze(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    if x.shape is None:
        return x
    gone = axes_of(bound["axis"] if bound["axis"] != [] else None, len(x.shape))
    return Tensor(tuple(size for i, size in enumerate(x.shape) if i not in gone or size != 1), x.dtype)


def _all_one(bound: Arguments) -> bool:
    x, axis = bound["x"], bound["axis"]
    if not isinstance(x, Tensor) or x.shape is None or axis in (None, [], ()):
        return False
    return all(x.shape[item] == 1 for item in axes_of(axis, len(x.shape)))


def _transpose(bound: Arguments) -> Tensor:
    x, perm = tensor(bound["x"]), bound["perm"]
    if x.shape is None:
        return x
    if not isinstance(perm, (list, tuple)) or sorted(axes_of(perm, len(x.shape))) != list(range(len(x.shape))):
        raise Refuse(f"{perm!r} is not an order of {len(x.shape)} dimensions")
    return Tensor(tuple(x.shape[i] for i in perm), x.dtype)


def _plain_order(bound: Arguments) -> bool:
    perm = bound["perm"]
    return bound["x"].shape is not None and all(isinstance(axis, int) and axis >= 0 for axis in perm)


def _tile(bound: Arguments) -> Tensor:
    x, times = tensor(bound["x"]), sizes_in(bound["repeat_times"])
    if x.shape is None:
        return x
    rank = max(len(times), len(x.shape))
    shape, counts = (1,) * (rank - len(x.shape)) + x.shape, [*[1] * (rank - len(times)), *times]
    products = [_times(size, x.extent or 1, count) for size, count in zip(shape, counts, strict=True)]
    sizes = tuple(size if isinstance(size, int) else None for size in products)
    extents = [size.extent for size in products if isinstance(size, Size)]
    same = all(extent == extents[0] for extent in extents)
    return Tensor(sizes, x.dtype, extent=next(iter(extents), x.extent) if same else object())


def _times(size: int | None, extent: Extent, count: int | Size) -> int | Size:
    """Return a size of this extent if it is not known, so many times."""
    if isinstance(count, int):
        whole = extent if count == 1 else extent * count if count and isinstance(extent, int) else object()
        return Size(whole) if size is None else size * count
    if size is None:
        return Size(object())
    return Size(count.extent if size == 1 else count.extent * size if isinstance(count.extent, int) else object())


def _full_times(bound: Arguments) -> bool:
    x, times = bound["x"], bound["repeat_times"]
    known = isinstance(x, Tensor) and x.shape is not None and isinstance(times, (list, tuple))
    return known and len(times) == len(x.shape) and _plain(times)


def _expand(bound: Arguments) -> Tensor:
    x, sizes = tensor(bound["x"]), sizes_of(bound["shape"])
    if x.shape is None:
        return Tensor(tuple(None if size == -1 else size for size in sizes), x.dtype)
    shape = (1,) * (len(sizes) - len(x.shape)) + x.shape
    return Tensor(tuple(own if size == -1 else size for own, size in zip(shape, sizes, strict=True)), x.dtype)


def _shape(bound: Arguments) -> Tensor:
    x = tensor(bound["input"])
    return Tensor(None if x.shape is None else (len(x.shape),), "int32", extent=x.extent, numbers=x.shape)


def _turned(bound: Arguments) -> Tensor:
    x = tensor(next(iter(bound.values())))
    if x.rank is not None and x.rank > 2:
        raise Refuse("`t` takes at most two dimensions; use `paddle.transpose`")
    return Tensor(None if x.shape is None else x.shape[::-1], x.dtype)


def _all_turned(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    return Tensor(None if x.shape is None else x.shape[::-1], x.dtype)


def _matrix(bound: Arguments) -> bool:
    return tensor(next(iter(bound.values()))).rank == 2


def _moved(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    if x.shape is None:
        return x
    source, destination = axes_of(bound["source"], len(x.shape)), axes_of(bound["destination"], len(x.shape))
    places = dict(zip(destination, source, strict=True))
    others = iter([i for i in range(len(x.shape)) if i not in source])
    return Tensor(tuple(x.shape[places[i] if i in places else next(others)] for i in range(len(x.shape))), x.dtype)


def _as(bound: Arguments) -> Tensor:
    return Tensor(tensor(bound["y"]).shape, tensor(bound["x"]).dtype)


_F = "paddle.nn.functional"


def _mask(bound: Arguments) -> Tensor:
    x, most = tensor(bound["x"]), bound["maxlen"]
    size = None if most is None else sizes_of(most)[0]
    return Tensor(None if x.shape is None else (*x.shape, size), dtype_name(bound["dtype"]))


def _padded(bound: Arguments) -> Tensor:
    x, amounts = tensor(bound["x"]), sizes_of(bound["pad"])
    if x.shape is None:
        return Tensor(None, x.dtype)
    rank = len(x.shape)
    if bound["mode"] == "constant" and len(amounts) == 2 * rank:
        pairs = [tuple(amounts[2 * i : 2 * i + 2]) for i in range(rank)]
    else:
        first = 1 if str(bound["data_format"]).endswith("C") else 2
        if len(amounts) != 2 * (rank - 2):
            raise Refuse(f"`pad` needs two numbers for each of {rank - 2} dimensions, or for each of all {rank}")
        pairs = [(0, 0)] * rank
        for i in range(rank - 2):
            pairs[first + rank - 3 - i] = tuple(amounts[2 * i : 2 * i + 2])
    return Tensor(tuple(total(sum, size, *pair) for size, pair in zip(x.shape, pairs, strict=True)), x.dtype)


OPS: tuple[Op, ...] = (
    Op(
        "paddle.reshape(x, shape, name=None)",
        lambda bound: reshaped(tensor(bound["x"]), bound["shape"]),
        (Form("tf.reshape(tensor=x, shape=shape)", _no_zero),),
        ("reshape", "reshape_"),
    ),
    Op(
        "paddle.flatten(x, start_axis=0, stop_axis=-1, name=None)",
        flattened,
        (Form("tf.reshape(x, [-1])", lambda bound: bool(tensor(bound["x"]).rank)),),
        ("flatten", "flatten_"),
    ),
    Op(
        "paddle.unsqueeze(x, axis, name=None)",
        _unsqueeze,
        (Form("tf.expand_dims(input=x, axis=axis)", lambda bound: isinstance(bound["axis"], int)),),
        ("unsqueeze", "unsqueeze_"),
    ),
    Op(
        "paddle.squeeze(x, axis=None, name=None)",
        _squeeze,
        (Form("tf.squeeze(input=x, axis=axis)", _all_one),),
        ("squeeze", "squeeze_"),
    ),
    method("transpose(x, perm, name=None)", _transpose, "tf.transpose(a=x, perm=perm)", _plain_order),
    Op("paddle.t(input, name=None)", _turned, (Form("tf.transpose(a=input)", _matrix),), ("t",)),
    Op("paddle.Tensor.T(x)", _all_turned, (Form("tf.transpose(x)"),), ("T",), helper="t"),
    Op("paddle.moveaxis(x, source, destination, name=None)", _moved, methods=("moveaxis",)),
    method("tile(x, repeat_times, name=None)", _tile, "tf.tile(input=x, multiples=repeat_times)", _full_times),
    method("expand(x, shape, name=None)", _expand, "tf.broadcast_to(input=x, shape=shape)", _no_rest),
    method("broadcast_to(x, shape, name=None)", _expand, "tf.broadcast_to(input=x, shape=shape)", _no_rest),
    Op("paddle.expand_as(x, y, name=None)", _as, methods=("expand_as",)),
    Op("paddle.shape(input)", _shape, (Form("tf.shape(input=input)"),)),
    Op(f"{_F}.sequence_mask(x, maxlen=None, dtype='int64', name=None)", _mask),
    Op(f"{_F}.pad(x, pad, mode='constant', value=0.0, data_format='NCHW', name=None)", _padded),
)
