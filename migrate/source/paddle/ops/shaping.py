"""Ops that change shapes: reshape, concat, split, transpose and so on."""

from __future__ import annotations

import math

from migrate.source.paddle.abstract.values import Refuse, Size, Tensor, Value
from migrate.source.paddle.ops.conditions import known_rank, list_of_one_dtype
from migrate.source.paddle.ops.shapes import axes_of, axis_of, reshaped, sizes_of, tensor, tensors
from migrate.source.paddle.ops.spec import Arguments, Form, Op


def _concat(bound: Arguments) -> Tensor:
    parts = tensors(bound["x"])
    shapes = [part.shape for part in parts if part.shape is not None]
    kinds = {part.dtype for part in parts}
    if len(kinds - {None}) > 1:
        raise Refuse(f"tensors of the dtypes {', '.join(sorted(map(str, kinds)))} cannot be concatenated")
    kind = kinds.pop()
    if len(shapes) < len(parts):
        return Tensor(None, kind)
    if len({len(shape) for shape in shapes}) > 1:
        raise Refuse(
            f"tensors with the shapes {', '.join(str(list(shape)) for shape in shapes[:4])} cannot be concatenated"
        )
    axis = axis_of(bound["axis"], len(shapes[0]))
    sizes = [shape[axis] for shape in shapes]
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    rest = [next((s[i] for s in shapes if s[i] is not None), None) for i in range(len(shapes[0]))]
    return Tensor((*rest[:axis], total, *rest[axis + 1 :]), kind)


def _stack(bound: Arguments) -> Tensor:
    parts = tensors(bound["x"])
    first = parts[0].shape
    if first is None:
        return Tensor(None, parts[0].dtype)
    axis = axis_of(bound["axis"], len(first) + 1)
    return Tensor((*first[:axis], len(parts), *first[axis:]), parts[0].dtype)


def _reshape(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    return Tensor(reshaped(x, sizes_of(bound["shape"])), x.dtype, x.array)


def _no_zero(bound: Arguments) -> bool:
    return isinstance(bound["shape"], list | tuple) and not any(type(s) is int and s == 0 for s in bound["shape"])


def flattened(bound: Arguments) -> Tensor:
    """A result with the dimensions from `start_axis` to `stop_axis` in one."""
    x = tensor(bound["x"])
    if x.shape is None:
        return Tensor(None, x.dtype)
    if not x.shape:
        return Tensor((1,), x.dtype)
    start, stop = axis_of(bound["start_axis"], len(x.shape)), axis_of(bound["stop_axis"], len(x.shape))
    middle = x.shape[start : stop + 1]
    size = None if None in middle else math.prod(s for s in middle if s is not None)
    return Tensor((*x.shape[:start], size, *x.shape[stop + 1 :]), x.dtype)


def _unsqueeze(bound: Arguments) -> Tensor:
    x, axis = tensor(bound["x"]), bound["axis"]
    if x.shape is None:
        return x
    shape = list(x.shape)
    for item in axis if isinstance(axis, list | tuple) else [axis]:
        shape.insert(axis_of(item, len(shape) + 1), 1)
    return Tensor(tuple(shape), x.dtype)


def _one_axis(bound: Arguments) -> bool:
    return isinstance(bound["axis"], int)


def _squeeze(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    if x.shape is None:
        return x
    if bound["axis"] in (None, []) and None in x.shape:
        return Tensor(None, x.dtype)
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
    if not isinstance(perm, list | tuple) or sorted(axes_of(perm, len(x.shape))) != list(range(len(x.shape))):
        raise Refuse(f"{perm!r} is not an order of {len(x.shape)} dimensions")
    return Tensor(tuple(x.shape[i] for i in perm), x.dtype)


def _split(bound: Arguments) -> list[Tensor]:
    x, parts = tensor(bound["x"]), bound["num_or_sections"]
    if x.shape is None:
        raise Refuse("the number of parts depends on an unknown shape")
    axis = axis_of(bound["axis"], len(x.shape))
    size = x.shape[axis]
    if isinstance(parts, int):
        if size is not None and size % parts:
            raise Refuse(f"{size} items cannot be split into {parts} equal parts")
        sizes: list[int | None] = [None if size is None else size // parts] * parts
    else:
        known = sizes_of(parts)
        rest = None if size is None or None in known else size - sum(s for s in known if s not in (None, -1))
        sizes = [rest if part == -1 else part for part in known]
    return [Tensor((*x.shape[:axis], part, *x.shape[axis + 1 :]), x.dtype) for part in sizes]


def _tile(bound: Arguments) -> Tensor:
    x, times = tensor(bound["x"]), sizes_of(bound["repeat_times"])
    if x.shape is None:
        return x
    rank = max(len(times), len(x.shape))
    shape, times = (1,) * (rank - len(x.shape)) + x.shape, [1] * (rank - len(times)) + times
    return Tensor(tuple(_times(size, count) for size, count in zip(shape, times, strict=True)), x.dtype)


def _times(size: int | None, count: int | None) -> int | None:
    return None if size is None or count is None else size * count


def _full_times(bound: Arguments) -> bool:
    x, times = bound["x"], bound["repeat_times"]
    return (
        isinstance(x, Tensor) and x.shape is not None and isinstance(times, list | tuple) and len(times) == len(x.shape)
    )


def _expand(bound: Arguments) -> Tensor:
    x, sizes = tensor(bound["x"]), sizes_of(bound["shape"])
    if x.shape is None:
        return Tensor(tuple(None if size == -1 else size for size in sizes), x.dtype)
    shape = (1,) * (len(sizes) - len(x.shape)) + x.shape
    return Tensor(tuple(own if size == -1 else size for own, size in zip(shape, sizes, strict=True)), x.dtype)


def _slice(bound: Arguments) -> Tensor:
    x = tensor(bound["input"])
    if x.shape is None:
        return x
    shape = list(x.shape)
    for axis, start, end in zip(*(bound[name] for name in ("axes", "starts", "ends")), strict=True):
        place = axis_of(axis, len(shape))
        size = shape[place]
        plain = isinstance(start, int) and isinstance(end, int)
        shape[place] = len(range(size)[start:end]) if plain and size is not None else _width(start, end)
    return Tensor(tuple(shape), x.dtype)


def _width(start: Value, end: Value) -> int | None:
    return 1 if start == 0 and end == 1 else None


def _shape(bound: Arguments) -> Tensor:
    x = tensor(bound["input"])
    return Tensor(None if x.shape is None else (len(x.shape),), "int32")


def _unbind(bound: Arguments) -> list[Tensor]:
    x = tensor(bound["input"])
    axis = axis_of(bound["axis"], len(x.shape or ()))
    if x.shape is None or x.shape[axis] is None:
        raise Refuse("the number of parts is known only when the model runs")
    return [Tensor((*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype)] * (x.shape[axis] or 0)


def _turned(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    return Tensor(None if x.shape is None else x.shape[::-1], x.dtype)


def _list_of_one(bound: Arguments) -> bool:
    return list_of_one_dtype(bound["x"]) and not isinstance(bound["axis"], Size)


OPS: tuple[Op, ...] = (
    Op(
        "paddle.concat(x, axis=0, name=None)",
        _concat,
        (Form("tf.concat(values=x, axis=axis)", _list_of_one, ("axis",)),),
        examples=("paddle.concat([f_2_3, f_2_1], axis=1)", "paddle.concat([f_2_3, f_1_3])"),
    ),
    Op(
        "paddle.stack(x, axis=0, name=None)",
        _stack,
        (Form("tf.stack(values=x, axis=axis)", _list_of_one),),
        examples=("paddle.stack([f_2_3, f_2_3], axis=1)",),
    ),
    Op(
        "paddle.reshape(x, shape, name=None)",
        _reshape,
        (Form("tf.reshape(tensor=x, shape=shape)", _no_zero),),
        ("reshape",),
        examples=("paddle.reshape(f_2_3, [3, -1])", "paddle.reshape(f_2_3, [0, 3, 1])", "f_2_3.reshape([-1])"),
    ),
    Op("paddle.flatten(x, start_axis=0, stop_axis=-1, name=None)", flattened, methods=("flatten",)),
    Op(
        "paddle.unsqueeze(x, axis, name=None)",
        _unsqueeze,
        (Form("tf.expand_dims(input=x, axis=axis)", _one_axis),),
        ("unsqueeze",),
        examples=("paddle.unsqueeze(f_2_3, axis=1)", "paddle.unsqueeze(f_2_3, [0, 2])"),
    ),
    Op(
        "paddle.squeeze(x, axis=None, name=None)",
        _squeeze,
        (Form("tf.squeeze(input=x, axis=axis)", _all_one),),
        ("squeeze",),
        examples=("paddle.squeeze(f_2_1_3, axis=1)", "paddle.squeeze(f_2_1_3, axis=0)", "f_2_1.squeeze()"),
    ),
    Op(
        "paddle.transpose(x, perm, name=None)",
        _transpose,
        (Form("tf.transpose(a=x, perm=perm)", known_rank()),),
        ("transpose",),
    ),
    Op(
        "paddle.split(x, num_or_sections, axis=0, name=None)",
        _split,
        (Form("tf.split(value=x, num_or_size_splits=num_or_sections, axis=axis)"),),
        ("split",),
    ),
    Op(
        "paddle.tile(x, repeat_times, name=None)",
        _tile,
        (Form("tf.tile(input=x, multiples=repeat_times)", _full_times),),
        ("tile",),
    ),
    Op("paddle.expand(x, shape, name=None)", _expand, methods=("expand",)),
    Op("paddle.slice(input, axes, starts, ends)", _slice),
    Op("paddle.shape(input)", _shape, (Form("tf.shape(input=input)"),)),
    Op("paddle.unbind(input, axis=0)", _unbind, methods=("unbind",)),
    Op("paddle.t(x, name=None)", _turned, methods=("t", "T")),
)
