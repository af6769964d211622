"""Lookups of a padded copy of a variable, `tf.concat([tf.zeros([1, dim]), W[1:]], 0)`: ids below the pad give zeros.

The gradient of such a lookup is a dense one, of the rows behind the pad alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import tensorflow as tf

from rewriter.graph.view import GraphView, Tensor, Use

__all__ = ["Padded", "first_row", "padded_copy"]

_UNUSUAL = ("ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


@dataclass(frozen=True)
class Padded:
    """A copy of a variable whose first `pad` rows are zeros; `ops` compute it, and `uses` are what reads it."""

    pad: int
    ops: tuple[str, ...]
    uses: tuple[Use, ...]


def padded_copy(view: GraphView, use: Use, shape: tuple[int, ...]) -> Padded | None:
    """Return the padded copy of a variable of this shape that begins with a use of it; None if there is none."""
    if view.type(use.op) != "StridedSlice" or use.input != 0:
        return None
    pad, after = first_row(view, use.op, shape), view.users(use.op)
    if not pad or len(after) != 1 or view.type(after[0].op) != "ConcatV2":
        return None
    inputs = view.inputs(after[0].op)
    if len(inputs) != 3 or after[0].input != 1 or view.number(inputs[2]) != 0 or view.number(inputs[0]) != 0:
        return None
    if view.shape(inputs[0]).as_list() != [pad, *shape[1:]]:
        return None
    return Padded(pad, (use.op, after[0].op), tuple(view.users(after[0].op)))


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


def _cuts(view: GraphView, op: str, bounds: list[list[int]], shape: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
    """Yield begin, end and step of each dimension that the slice names; an open end is the size."""
    opens, ends = (view.attribute(op, name).i for name in ("begin_mask", "end_mask"))
    for axis, (begin, end, step) in enumerate(zip(*bounds, strict=True)):
        yield 0 if opens >> axis & 1 else begin, shape[axis] if ends >> axis & 1 else end, step


def _numbers(view: GraphView, tensor: Tensor) -> list[int] | None:
    if view.type(tensor.op) != "Const":
        return None
    return [int(one) for one in tf.make_ndarray(view.nodes[tensor.op].attr["value"].tensor).ravel()]
