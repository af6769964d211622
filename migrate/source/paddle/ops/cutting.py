"""Ops that cut a tensor into parts, or a part out of it."""

from __future__ import annotations

from migrate.source.paddle.abstract.values import Refuse, Size, Tensor, Value
from migrate.source.paddle.ops.shapes import axis_of, sizes_of, tensor
from migrate.source.paddle.ops.spec import Arguments, Form, Op


def _split(bound: Arguments) -> list[Tensor]:
    return _parts(tensor(bound["x"]), bound["num_or_sections"], bound["axis"])


def _chunk(bound: Arguments) -> list[Tensor]:
    return _parts(tensor(bound["x"]), bound["chunks"], bound["axis"])


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
    if isinstance(bound["axis"], Size | Tensor):
        return False
    return isinstance(parts, int) or (
        isinstance(parts, list | tuple) and all(isinstance(part, int) for part in parts) and _rest_known(bound)
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
        "paddle.split(x, num_or_sections, axis=0, name=None)",
        _split,
        (Form("tf.split(value=x, num_or_size_splits=num_or_sections, axis=axis)", _known_parts),),
        ("split",),
    ),
    Op(
        "paddle.chunk(x, chunks, axis=0, name=None)",
        _chunk,
        (
            Form(
                "tf.split(value=x, num_or_size_splits=chunks, axis=axis)", lambda bound: isinstance(bound["axis"], int)
            ),
        ),
        ("chunk",),
    ),
    Op("paddle.unbind(input, axis=0)", _unbind("axis", "input"), (Form("tf.unstack(input, axis=axis)"),), ("unbind",)),
    Op(
        "paddle.unstack(x, axis=0, num=None)",
        _unbind("axis", "x"),
        (Form("tf.unstack(value=x, num=num, axis=axis)"),),
        ("unstack",),
    ),
    Op("paddle.slice(input, axes, starts, ends)", _slice),
    Op("paddle.strided_slice(x, axes, starts, ends, strides, name=None)", _slice),
)
