"""Which rows of a gradient with all rows may be other than zero: those of the ids that its lookups spread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import tensorflow as tf

from rewriter.by_rows.place import (
    BY_ELEMENT,
    NotByRows,
    axis_before_reshape,
    constant,
    is_zero,
    operand_axis,
    size_of,
)
from rewriter.by_rows.rows_at import RowsAt
from rewriter.patterns.pooled import PRODUCT

_SUMS = ("AddN", "Add", "AddV2", "Sub", "Pack", "ConcatV2", "SelectV2", "Select", "Maximum", "Minimum")
_PASSED = ("Sum", "Mean", "Max", "Min", "Reshape", "ExpandDims", "Squeeze", "Tile", "BroadcastTo", "Slice")


@dataclass(frozen=True)
class Spread:
    """A tensor that has the gradients of a lookup in the rows of its ids; a row is that of the variable + `shift`."""

    tensor: str
    shift: int


Rows = dict[Spread, None]


class Support:
    """Finds the spread gradients in tensors; `used` are their ops."""

    def __init__(self, graph: tf.Graph) -> None:
        self._graph = graph
        self._known: dict[tuple[str, int, int], Rows | None] = {}

    def of(self, tensor: tf.Tensor, axis: int = 0, shift: int = 0) -> Rows | None:
        """Return what is spread in a tensor that is zero in all other rows along an axis; None if it may not be so."""
        key = tensor.name, axis, shift
        if key not in self._known:
            self._known[key] = None  # of a loop
            try:
                self._known[key] = self._of(tensor, axis, shift)
            except NotByRows:
                self._known[key] = None
        return self._known[key]

    def _of(self, tensor: tf.Tensor, axis: int, shift: int) -> Rows | None:
        op, kind = tensor.op, tensor.op.type
        size_of(tensor, axis)
        if axis == 0 and _spreads(op):
            return {Spread(tensor.name, shift): None}
        if is_zero(tensor):
            return {}
        if kind == "Mul" or kind == "MulNoNan":
            supports = [
                one for one in (self._operand(given, axis, tensor, shift) for given in op.inputs) if one is not None
            ]
            return _together(supports) if supports else None
        if (operand := BY_ELEMENT.get(kind)) is not None:
            return self._operand(op.inputs[operand], axis, tensor, shift)
        if kind in _SUMS:
            return self._all(tensor, axis, shift)
        if kind in _PASSED:
            return self._passed(tensor, axis, shift)
        if kind == "StridedSliceGrad":
            begin = constant(op.inputs[1])
            opened = int(op.get_attr("begin_mask")) >> axis & 1
            return self.of(op.inputs[4], axis, shift - (0 if opened or axis >= len(begin) else int(begin[axis])))
        if kind == "Pad":
            return self.of(op.inputs[0], axis, shift - int(constant(op.inputs[1])[axis][0]))
        if kind == "Transpose":
            return self.of(op.inputs[0], int(constant(op.inputs[1])[axis]), shift)
        if kind in ("MatMul", "BatchMatMulV2") and axis == 0:
            return self.of(op.inputs[0], 0, shift)
        return None

    def _operand(self, operand: tf.Tensor, axis: int, whole: tf.Tensor, shift: int) -> Rows | None:
        own = operand_axis(operand, axis, whole)
        return ({} if is_zero(operand) else None) if own is None else self.of(operand, own, shift)

    def _all(self, tensor: tf.Tensor, axis: int, shift: int) -> Rows | None:
        op = tensor.op
        if op.type in ("Maximum", "Minimum"):
            return self._bounded(tensor, axis, shift)
        if op.type == "Pack":
            along = int(op.get_attr("axis")) % (tensor.shape.rank or 1)
            supports = [self.of(one, axis - (along < axis), shift) for one in op.inputs] if along != axis else [None]
        elif op.type == "ConcatV2":
            *parts, along_axis = op.inputs
            same = int(constant(along_axis)) % (tensor.shape.rank or 1) == axis
            supports = [None] if same else [self.of(one, axis, shift) for one in parts]
        else:
            operands = op.inputs[1:] if op.type in ("Select", "SelectV2") else op.inputs
            supports = [self._operand(one, axis, tensor, shift) for one in operands]
        return None if any(one is None for one in supports) else _together(one for one in supports if one is not None)

    def _bounded(self, tensor: tf.Tensor, axis: int, shift: int) -> Rows | None:
        """Return what is spread in a gradient that is clipped to values around zero."""
        for operand, bound in (tensor.op.inputs, tensor.op.inputs[::-1]):
            number = tf.get_static_value(bound)
            keeps = number is not None and bool(
                (number <= 0).all() if tensor.op.type == "Maximum" else (number >= 0).all()
            )
            if keeps:
                return self._operand(operand, axis, tensor, shift)
        return None

    def _passed(self, tensor: tf.Tensor, axis: int, shift: int) -> Rows | None:
        op, operand = tensor.op, tensor.op.inputs[0]
        if op.type in ("Reshape", "ExpandDims", "Squeeze"):
            return self.of(operand, axis_before_reshape(operand, tensor, axis), shift)
        if op.type in ("Sum", "Mean", "Max", "Min"):
            rank = operand.shape.rank or 0
            reduced = {int(one) % rank for one in constant(op.inputs[1]).ravel()}
            left = [one for one in range(rank) if op.get_attr("keep_dims") or one not in reduced]
            return None if left[axis] in reduced else self.of(operand, left[axis], shift)
        if op.type == "Slice":
            return self.of(operand, axis, shift + int(constant(op.inputs[1])[axis]))
        return self._operand(operand, axis, tensor, shift)


def _together(supports: Iterable[Rows]) -> Rows:
    return {one: None for rows in supports for one in rows}


def _spreads(op: tf.Operation) -> bool:
    """Whether an op adds up rows by their ids, as gradients of lookups do."""
    if op.type == "ScatterNd":
        return bool(op.inputs[0].shape[-1:] == [1])
    turned = op.type == PRODUCT and op.get_attr("adjoint_a") and not op.get_attr("adjoint_b")
    return op.type == "UnsortedSegmentSum" or bool(turned)


def _spread(op: tf.Operation) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the ids [n] and the rows [n, ...] that an op adds up."""
    row = op.outputs[0].shape[1:]
    if op.type == "UnsortedSegmentSum":
        values, ids = op.inputs[:2]
    elif op.type == "ScatterNd":
        ids, values = op.inputs[:2]
    else:
        indices, weights, _, like = op.inputs
        ids, values = indices[:, 1], tf.gather(like, indices[:, 0]) * tf.expand_dims(weights, 1)
    return tf.cast(tf.reshape(ids, [-1]), tf.int64), tf.reshape(values, [-1, *row])


def rows_of_gradient(graph: tf.Graph, spread: Sequence[Spread], rows: int) -> RowsAt:
    """Return what evaluates a gradient of a variable with so many rows, at the ids of all that is spread in it."""
    ids, values, inside = list[tf.Tensor](), list[tf.Tensor](), list[tf.Tensor | None]()
    for term in spread:
        shape, ids_of_term = _spread(graph.get_tensor_by_name(term.tensor).op)
        shape = shape if term.shift == 0 else shape - term.shift
        whole = term.shift == 0 and size_of(graph.get_tensor_by_name(term.tensor), 0) == rows
        within = None if whole else (shape >= 0) & (shape < rows)
        ids.append(shape if within is None else tf.where(within, shape, 0))
        values.append(ids_of_term)
        inside.append(within)
    keys, places = tf.unique(ids[0] if len(ids) == 1 else tf.concat(ids, 0))
    parts = [places] if len(ids) == 1 else tf.split(places, [tf.size(one) for one in ids], num=len(ids))
    known: dict[tuple[str, int], tf.Tensor] = {}
    for term, ids_of_term, place, within in zip(spread, values, parts, inside, strict=True):
        at = place if within is None else tf.where(within, place, -1)
        sums = tf.math.unsorted_segment_sum(ids_of_term, at, tf.size(keys))
        known[term.tensor, term.shift] = tf.ensure_shape(sums, [None, *ids_of_term.shape[1:]])
    return RowsAt(keys, known)
