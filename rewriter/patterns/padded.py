"""Lookups of a padded copy of a variable, such as `tf.concat([tf.zeros([1, dim]), W[1:]], 0)`: ids of a pad give zeros.

The gradient of rows `W[1:]` is a dense one, with zeros before them; that of `tf.concat([W, zeros], 0)` is sparse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import tensorflow as tf

from rewriter.facts import Window
from rewriter.graph.view import GraphView, Tensor, Use

__all__ = ["Padded", "first_row", "padded_copy"]

_UNUSUAL = ("ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


@dataclass(frozen=True)
class Padded:
    """A copy of a variable between rows of zeros; `ops` compute it, and `uses` are what reads it."""

    window: Window
    ops: tuple[str, ...]
    uses: tuple[Use, ...]


def padded_copy(view: GraphView, use: Use, shape: tuple[int, ...]) -> Padded | None:
    """Return the padded copy of a variable of this shape that begins with a use of it; None if there is none."""
    row, ops = 0, list[str]()
    if view.type(use.op) == "StridedSlice" and use.input == 0:
        after, found = view.users(use.op), first_row(view, use.op, shape)
        if found is None or len(after) != 1:
            return None
        row, ops, use = found, [use.op], after[0]
    if view.type(use.op) != "ConcatV2":
        return None
    *parts, axis = view.inputs(use.op)
    pads = [0 if number == use.input else _zeros(view, one, shape[1:]) for number, one in enumerate(parts)]
    if view.number(axis) != 0 or len(pads) < 2 or any(one is None for one in pads):
        return None
    first = sum(one or 0 for one in pads[: use.input])
    window = Window(first, first + shape[0] - row, row)
    return Padded(window, (*ops, use.op), tuple(view.users(use.op)))


def first_row(view: GraphView, op: str, shape: tuple[int, ...]) -> int | None:
    """Return from which row on a StridedSlice, or its gradient, takes all of a variable; None if it takes others."""
    bounds = [_numbers(view, one) for one in view.inputs(op)[1:4]]
    if any(one is None for one in bounds) or any(view.attribute(op, name).i for name in _UNUSUAL):
        return None
    cuts = list(_cuts(view, op, [one or [] for one in bounds], shape))
    (first, last, step), others = cuts[0], cuts[1:]
    if step != 1 or last != shape[0] or not 0 <= first < shape[0]:
        return None
    whole = all(cut == (0, size, 1) for cut, size in zip(others, shape[1:], strict=False))
    return first if whole and len(cuts) <= len(shape) else None


def _zeros(view: GraphView, tensor: Tensor, row: tuple[int, ...]) -> int | None:
    """Return how many rows of zeros a tensor has; None if it has others, or an unknown number."""
    found = view.shape(tensor)
    if view.number(tensor) != 0 or not found.is_fully_defined() or found[1:].as_list() != list(row):
        return None
    return int(found[0])


def _cuts(view: GraphView, op: str, bounds: list[list[int]], shape: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
    """Yield begin, end and step of each dimension that the slice names; an open end is the size."""
    opens, ends = (view.attribute(op, name).i for name in ("begin_mask", "end_mask"))
    for axis, (begin, end, step) in enumerate(zip(*bounds, strict=True)):
        yield 0 if opens >> axis & 1 else begin, shape[axis] if ends >> axis & 1 else end, step


def _numbers(view: GraphView, tensor: Tensor) -> list[int] | None:
    if view.type(tensor.op) != "Const":
        return None
    return [int(one) for one in tf.make_ndarray(view.nodes[tensor.op].attr["value"].tensor).ravel()]
