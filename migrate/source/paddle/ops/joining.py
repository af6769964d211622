"""Ops that join tensors, cut them into parts, or move elements along axes."""

from __future__ import annotations

import math

from migrate.source.paddle.abstract.values import Refuse, Size, Tensor, Value
from migrate.source.paddle.ops.shapes import (
    axes_of,
    axis_of,
    broadcast,
    list_of_one_dtype,
    same,
    sizes_of,
    tensor,
    tensors,
    total,
)
from migrate.source.paddle.ops.spec import Arguments, Form, Op, method


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
    whole = total(sum, *sizes)
    rest = [next((s[i] for s in shapes if s[i] is not None), None) for i in range(len(shapes[0]))]
    longer = whole is None and len(parts) > 1  # than each of the parts
    return Tensor((*rest[:axis], whole, *rest[axis + 1 :]), kind, extent=object() if longer else None)


def _stack(bound: Arguments) -> Tensor:
    parts = tensors(bound["x"])
    first = parts[0].shape
    if first is None:
        return Tensor(None, parts[0].dtype)
    axis = axis_of(bound["axis"], len(first) + 1)
    return Tensor((*first[:axis], len(parts), *first[axis:]), parts[0].dtype)


def _of_one_dtype(bound: Arguments) -> bool:
    return (
        list_of_one_dtype(bound["x"])
        and not isinstance(bound["axis"], (Size, Tensor))
        and all(part.rank != 0 for part in bound["x"])
    )


def _of_one_kind(bound: Arguments) -> bool:
    return list_of_one_dtype(bound["x"])


def _flip(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    if x.shape is not None:
        axes_of(bound["axis"], len(x.shape))
    return Tensor(x.shape, x.dtype)


def _list_of_axes(bound: Arguments) -> bool:
    axes = bound["axis"]
    return isinstance(axes, (list, tuple)) and all(isinstance(axis, int) for axis in axes)


def _repeated(bound: Arguments) -> Tensor:
    x, times = tensor(bound["x"]), bound["repeats"] if isinstance(bound["repeats"], int) else None
    if x.shape is None:
        return Tensor(None, x.dtype)
    axis = None if bound["axis"] is None else axis_of(bound["axis"], len(x.shape))
    before, after = (x.shape[:axis], x.shape[axis + 1 :]) if axis is not None else ((), ())
    size = total(math.prod, *(x.shape if axis is None else x.shape[axis : axis + 1]), times)
    return Tensor((*before, size, *after), x.dtype, extent=object() if size is None else None)


def _grid(bound: Arguments) -> list[Tensor]:
    arguments = bound["args"]
    inputs = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], (list, tuple)) else arguments
    shapes = [tensor(item).shape for item in inputs]
    sizes = tuple(None if shape is None else shape[0] if shape else 1 for shape in shapes)
    return [Tensor(sizes, tensor(item).dtype) for item in inputs]


def _broadcast(bound: Arguments) -> list[Tensor]:
    parts = tensors(bound["input"])
    shape = broadcast(*[part.shape for part in parts])
    return [Tensor(shape, part.dtype) for part in parts]


def _differences(bound: Arguments) -> Tensor:
    x, more = tensor(bound["x"]), [bound[name] for name in ("prepend", "append") if bound[name] is not None]
    if x.shape is None:
        return Tensor(None, x.dtype)
    axis = axis_of(bound["axis"], len(x.shape))
    sizes = [x.shape[axis], *((tensor(item).shape or (None,) * len(x.shape))[axis] for item in more)]
    whole = total(sum, *sizes)
    left = None if whole is None else max(whole - bound["n"], 0)
    return Tensor((*x.shape[:axis], left, *x.shape[axis + 1 :]), x.dtype)


def _parts(x: Tensor, parts: Value, along: Value) -> list[Tensor]:
    if x.shape is None:
        raise Refuse("the number of parts depends on an unknown shape")
    axis = axis_of(along, len(x.shape))
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


def _known_parts(bound: Arguments) -> bool:
    """Whether TensorFlow takes the parts: a number, or sizes that are known and of which one may be -1."""
    parts = bound["num_or_sections"]
    if isinstance(bound["axis"], (Size, Tensor)):
        return False
    return isinstance(parts, int) or (
        isinstance(parts, (list, tuple)) and all(isinstance(part, int) for part in parts) and _rest_known(bound)
    )


def _rest_known(bound: Arguments) -> bool:
    x = tensor(bound["x"])
    return -1 not in bound["num_or_sections"] or (
        x.shape is not None and x.shape[axis_of(bound["axis"], len(x.shape))] is not None
    )


def _unbind(axis: str, first: str) -> Value:
    def result(bound: Arguments) -> list[Tensor]:
        x = tensor(bound[first])
        along = axis_of(bound[axis], len(x.shape or ()))
        size = None if x.shape is None else x.shape[along]
        if x.shape is None or (size is None and bound.get("num") is None):
            raise Refuse("the number of parts is known only when the model runs; give the dimension a fixed size")
        count = bound.get("num") if size is None else size
        return [Tensor((*x.shape[:along], *x.shape[along + 1 :]), x.dtype)] * int(count or 0)

    return result


def _slice(bound: Arguments) -> Tensor:
    x = tensor(bound.get("input", bound.get("x")))
    axes, steps = list(bound["axes"]), bound.get("strides", [1] * len(bound["axes"]))
    if x.shape is None:
        return Tensor(None, x.dtype)
    shape = list(x.shape)
    for axis, start, end, step in zip(axes, bound["starts"], bound["ends"], steps, strict=True):
        place = axis_of(axis, len(shape))
        size = shape[place]
        plain = all(isinstance(item, int) for item in (start, end, step))
        shape[place] = len(range(size)[start:end:step]) if plain and size is not None else None
    return Tensor(tuple(shape), x.dtype)


OPS: tuple[Op, ...] = (
    Op(
        "paddle.concat(x, axis=0, name=None)",
        _concat,
        (Form("tf.concat(values=x, axis=axis)", _of_one_dtype, ("axis",)),),
    ),
    Op("paddle.stack(x, axis=0, name=None)", _stack, (Form("tf.stack(values=x, axis=axis)", _of_one_kind),)),
    Op("paddle.flip(x, axis, name=None)", _flip, (Form("tf.reverse(tensor=x, axis=axis)", _list_of_axes),), ("flip",)),
    method(
        "roll(x, shifts, axis=None, name=None)",
        same,
        "tf.roll(input=x, shift=shifts, axis=axis)",
        lambda b: isinstance(b["axis"], int) and isinstance(b["shifts"], int),
    ),
    Op("paddle.repeat_interleave(x, repeats, axis=None, name=None)", _repeated, methods=("repeat_interleave",)),
    Op("paddle.meshgrid(*args)", _grid),
    Op("paddle.broadcast_tensors(input, name=None)", _broadcast),
    Op("paddle.diff(x, n=1, axis=-1, prepend=None, append=None, name=None)", _differences, methods=("diff",)),
    Op(
        "paddle.split(x, num_or_sections, axis=0, name=None)",
        lambda bound: _parts(tensor(bound["x"]), bound["num_or_sections"], bound["axis"]),
        (Form("tf.split(value=x, num_or_size_splits=num_or_sections, axis=axis)", _known_parts),),
        ("split",),
    ),
    method(
        "chunk(x, chunks, axis=0, name=None)",
        lambda bound: _parts(tensor(bound["x"]), bound["chunks"], bound["axis"]),
        "tf.split(value=x, num_or_size_splits=chunks, axis=axis)",
        lambda bound: isinstance(bound["axis"], int),
    ),
    Op("paddle.unbind(input, axis=0)", _unbind("axis", "input"), (Form("tf.unstack(input, axis=axis)"),), ("unbind",)),
    method("unstack(x, axis=0, num=None)", _unbind("axis", "x"), "tf.unstack(value=x, num=num, axis=axis)"),
    Op("paddle.slice(input, axes, starts, ends)", _slice),
    Op("paddle.strided_slice(x, axes, starts, ends, strides, name=None)", _slice),
)
