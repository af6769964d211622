"""Ops that join tensors, cut them into parts, or move elements along axes."""

from __future__ import annotations

from migrate.source.paddle.abstract.values import Refuse, Shape, Size, Tensor, Value
from migrate.source.paddle.ops.conditions import list_of_one_dtype
from migrate.source.paddle.ops.shapes import axes_of, axis_of, broadcast, same, tensor, tensors
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
    longer = total is None and len(parts) > 1  # than each of the parts
    return Tensor((*rest[:axis], total, *rest[axis + 1 :]), kind, extent=object() if longer else None)


def _stack(bound: Arguments) -> Tensor:
    parts = tensors(bound["x"])
    first = parts[0].shape
    if first is None:
        return Tensor(None, parts[0].dtype)
    axis = axis_of(bound["axis"], len(first) + 1)
    return Tensor((*first[:axis], len(parts), *first[axis:]), parts[0].dtype)


def _of_one_dtype(bound: Arguments) -> bool:
    return list_of_one_dtype(bound["x"]) and not isinstance(bound["axis"], Size | Tensor) and _ranked(bound["x"])


def _ranked(parts: Value) -> bool:
    return all(part.rank != 0 for part in parts)


def _of_one_kind(bound: Arguments) -> bool:
    return list_of_one_dtype(bound["x"])


def _flip(bound: Arguments) -> Tensor:
    x = tensor(bound["x"])
    if x.shape is not None:
        axes_of(bound["axis"], len(x.shape))
    return Tensor(x.shape, x.dtype)


def _list_of_axes(bound: Arguments) -> bool:
    axes = bound["axis"]
    return isinstance(axes, list | tuple) and all(isinstance(axis, int) for axis in axes)


def _repeated(bound: Arguments) -> Tensor:
    x, times = tensor(bound["x"]), bound["repeats"]
    if x.shape is None:
        return Tensor(None, x.dtype)
    axis = None if bound["axis"] is None else axis_of(bound["axis"], len(x.shape))
    before, after = (x.shape[:axis], x.shape[axis + 1 :]) if axis is not None else ((), ())
    size = _product(x.shape if axis is None else x.shape[axis : axis + 1], times)
    return Tensor((*before, size, *after), x.dtype, extent=object() if size is None else None)


def _product(sizes: Shape, times: Value) -> int | None:
    if not isinstance(times, int) or None in sizes:
        return None
    result = times
    for size in sizes:
        result *= size or 0
    return result


def _grid(bound: Arguments) -> list[Tensor]:
    given = bound["args"]
    inputs = given[0] if len(given) == 1 and isinstance(given[0], list | tuple) else given
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
    total = None if None in sizes else max(sum(size or 0 for size in sizes) - bound["n"], 0)
    return Tensor((*x.shape[:axis], total, *x.shape[axis + 1 :]), x.dtype)


OPS: tuple[Op, ...] = (
    Op(
        "paddle.concat(x, axis=0, name=None)",
        _concat,
        (Form("tf.concat(values=x, axis=axis)", _of_one_dtype, ("axis",)),),
    ),
    Op("paddle.stack(x, axis=0, name=None)", _stack, (Form("tf.stack(values=x, axis=axis)", _of_one_kind),)),
    Op("paddle.flip(x, axis, name=None)", _flip, (Form("tf.reverse(tensor=x, axis=axis)", _list_of_axes),), ("flip",)),
    Op(
        "paddle.roll(x, shifts, axis=None, name=None)",
        same,
        (
            Form(
                "tf.roll(input=x, shift=shifts, axis=axis)",
                lambda b: isinstance(b["axis"], int) and isinstance(b["shifts"], int),
            ),
        ),
        ("roll",),
    ),
    Op("paddle.repeat_interleave(x, repeats, axis=None, name=None)", _repeated, methods=("repeat_interleave",)),
    Op("paddle.meshgrid(*args)", _grid),
    Op("paddle.broadcast_tensors(input, name=None)", _broadcast),
    Op("paddle.diff(x, n=1, axis=-1, prepend=None, append=None, name=None)", _differences, methods=("diff",)),
)
