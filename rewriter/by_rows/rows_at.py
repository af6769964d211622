"""Rows of a computed tensor at given ids, from the same ops on the rows of what it is computed from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from rewriter import _tf_private
from rewriter.by_rows.place import (
    BY_ELEMENT,
    NotByRows,
    Place,
    axis_before_reshape,
    constant,
    operand_axis,
    size_of,
)
from rewriter.facts import VARIABLES
from rewriter.patterns.branches import READS

_REDUCTIONS = ("Sum", "Mean", "Max", "Min", "Prod", "All", "Any")
_RESHAPES = ("Reshape", "ExpandDims", "Squeeze")
_WHOLE = Place()


def variable_of(tensor: tf.Tensor) -> str | None:
    """Return the variable that a tensor is a read of; None if it is none."""
    op = tensor.op
    if op.type == "ReadVariableOp":
        while op.type in ("ReadVariableOp", "Identity", "Switch"):
            op = op.inputs[0].op
        return op.name if op.type == "VarHandleOp" else None
    if op.type == "Identity":  # which reads a ref variable
        op = op.inputs[0].op
    return op.name if op.type in VARIABLES and op.type != "VarHandleOp" else None


def copied(op: tf.Operation, inputs: Sequence[tf.Tensor]) -> tf.Operation:
    """Return an op with the attributes and the device of another one, and these inputs."""
    attributes = {name: value for name, value in op.node_def.attr.items() if not name.startswith("_")}
    with tf.device(op.device or None):
        name = op.name.rpartition("/")[2]
        return op.graph.create_op(op.type, list(inputs), [one.dtype for one in op.outputs], name=name, attrs=attributes)


class RowsAt:
    """Evaluates tensors with a row for each id at some `ids`; each tensor once."""

    def __init__(self, ids: tf.Tensor, known: Mapping[tuple[str, int], tf.Tensor] | None = None) -> None:
        """Take the ids, and rows that are known, by tensor and shift: those of gradients that lookups spread."""
        self._ids, self.keys = ids, tf.reshape(ids, [-1])
        self._scattered = known or {}
        self._known: dict[tuple[str, int, Place], tf.Tensor] = {}
        self._computed: dict[str, bool] = {}
        self.variables: set[str] = set()
        self.waits: dict[tf.Operation, None] = {}

    def at(self, tensor: tf.Tensor, axis: int = 0, place: Place = _WHOLE) -> tf.Tensor:
        """Return a tensor with a row for each id in the place of all its rows, along the same axis.

        Raises:
            NotByRows: its rows are not computed each from rows of the same id.
        """
        key = tensor.name, axis, place
        if key not in self._known:
            constants = [one.op for one in tensor.op.inputs if one.op.type == "Const"]
            self.waits |= {wait: None for op in (tensor.op, *constants) for wait in op.control_inputs}
            self._known[key] = self._at(tensor, axis, place)
        return self._known[key]

    def _at(self, tensor: tf.Tensor, axis: int, place: Place) -> tf.Tensor:
        if axis == 0 and (tensor.name, place.shift) in self._scattered:
            return self._scattered[tensor.name, place.shift]
        size_of(tensor, axis)
        if (variable := variable_of(tensor)) is not None:
            return self._of_variable(tensor, variable, axis, place)
        if not self._from_variables(tensor.op):
            return tf.gather(tensor, self._rows(place, size_of(tensor, axis)), axis=axis)
        if tensor.op.type in BY_ELEMENT:
            return self._by_element(tensor, axis, place)
        rule = RULES.get(tensor.op.type)
        if rule is None:
            raise NotByRows(tensor.op)
        return rule(self, tensor, axis, place)

    def let_wait(self, op: tf.Operation, *old: tf.Operation) -> None:
        """Let an op wait for all that the old ops waited for: those that were evaluated, and others."""
        further = [one for before in old for one in before.control_inputs]
        waits = list(dict.fromkeys([*op.control_inputs, *self.waits, *further]))
        if waits:
            _tf_private.replace_controls(op, waits)

    def _rows(self, place: Place, size: int) -> tf.Tensor:
        """Return the numbers of the rows of the ids; any row for ids that are elsewhere."""
        rows = self.keys if not place.shift else self.keys + tf.constant(place.shift, self.keys.dtype)
        rows = tf.maximum(rows, tf.constant(0, rows.dtype)) if place.low else rows
        return tf.minimum(rows, tf.constant(size - 1, rows.dtype)) if place.high else rows

    def _of_variable(self, tensor: tf.Tensor, variable: str, axis: int, place: Place) -> tf.Tensor:
        if axis:
            raise NotByRows(tensor.op)
        self.variables.add(variable)
        ids = self._ids if place == _WHOLE else self._rows(place, size_of(tensor, axis))
        with tf.device(tensor.op.device or None):
            if tensor.op.type == "ReadVariableOp":
                rows = tf.raw_ops.ResourceGather(resource=tensor.op.inputs[0], indices=ids, dtype=tensor.dtype)
            else:
                read = tensor if tensor.op.type == "Identity" else tf.identity(tensor)
                rows = tf.raw_ops.GatherV2(params=read, indices=ids, axis=0)
        before = tensor.op.control_inputs if tensor.op.type in READS else list(self.waits)
        if before:
            _tf_private.replace_controls(rows.op, before)
        return rows if ids.shape.rank == 1 else tf.reshape(rows, [-1, *tensor.shape[1:]])

    def _from_variables(self, op: tf.Operation) -> bool:
        """Whether an op is computed from a variable, so that it is worth while to compute rows of it alone."""
        pending, path = [op], dict[str, None]()
        while pending:
            reached = pending.pop()
            if reached.type in VARIABLES or self._computed.get(reached.name):
                self._computed |= dict.fromkeys((op.name,), True)
                return True
            if reached.name in path or reached.name in self._computed:
                continue
            path[reached.name] = None
            pending += [given.op for given in reached.inputs]
        self._computed |= dict.fromkeys(path, False)
        return False

    def _operand(self, operand: tf.Tensor, axis: int, whole: tf.Tensor, place: Place) -> tf.Tensor:
        own = operand_axis(operand, axis, whole)
        return operand if own is None else self.at(operand, own, place)

    def _by_element(self, tensor: tf.Tensor, axis: int, place: Place) -> tf.Tensor:
        return copied(tensor.op, [self._operand(one, axis, tensor, place) for one in tensor.op.inputs]).outputs[0]

    def _reduced(self, tensor: tf.Tensor, axis: int, place: Place) -> tf.Tensor:
        op, (operand, axes) = tensor.op, tensor.op.inputs
        rank = operand.shape.rank
        if rank is None:
            raise NotByRows(op)
        reduced = {int(one) % rank for one in constant(axes).ravel()}
        left = [one for one in range(rank) if op.get_attr("keep_dims") or one not in reduced]
        if left[axis] in reduced:
            raise NotByRows(op)
        return copied(op, [self.at(operand, left[axis], place), axes]).outputs[0]

    def _reshaped(self, tensor: tf.Tensor, axis: int, place: Place) -> tf.Tensor:
        operand = tensor.op.inputs[0]
        rows = self.at(operand, axis_before_reshape(operand, tensor, axis), place)
        shape = tensor.shape.as_list()
        return tf.reshape(rows, [*shape[:axis], -1, *shape[axis + 1 :]])

    def _tiled(self, tensor: tf.Tensor, axis: int, place: Place) -> tf.Tensor:
        operand, multiples = tensor.op.inputs
        if constant(multiples)[axis] != 1:
            raise NotByRows(tensor.op)
        return copied(tensor.op, [self.at(operand, axis, place), multiples]).outputs[0]

    def _broadcast(self, tensor: tf.Tensor, axis: int, place: Place) -> tf.Tensor:
        operand = self._operand(tensor.op.inputs[0], axis, tensor, place)
        shape: list[Any] = tensor.shape.as_list()
        shape[axis] = tf.size(self.keys)
        return tf.broadcast_to(operand, shape)

    def _joined(self, tensor: tf.Tensor, axis: int, place: Place) -> tf.Tensor:
        *parts, along = tensor.op.inputs
        if int(constant(along)) % (tensor.shape.rank or 1) != axis:
            return copied(tensor.op, [*(self.at(one, axis, place) for one in parts), along]).outputs[0]
        first, rows = 0, list[tuple[int, tf.Tensor]]()
        for number, part in enumerate(parts):
            inner = place.within(first, number > 0, number < len(parts) - 1)
            rows.append((first, self.at(part, axis, inner)))
            first += size_of(part, axis)
        result = rows[0][1]
        for begin, more in rows[1:]:
            result = tf.where(self._from(begin, axis, tensor, place), more, result)
        return result

    def _from(self, begin: int, axis: int, tensor: tf.Tensor, place: Place) -> tf.Tensor:
        """Return which ids have rows from `begin` on, in a form that broadcasts with the rows of a tensor."""
        behind = [1] * ((tensor.shape.rank or 1) - axis - 1)
        return tf.reshape(self.keys >= tf.constant(begin - place.shift, self.keys.dtype), [-1, *behind])

    def _between(self, rows: tf.Tensor, first: int, last: int, axis: int, tensor: tf.Tensor, place: Place) -> tf.Tensor:
        """Return rows, and zeros for ids that are not within `first` to `last` - 1."""
        inside = self._from(first, axis, tensor, place) & ~self._from(last, axis, tensor, place)
        return tf.where(inside, rows, tf.zeros([], rows.dtype))

    def _stacked(self, tensor: tf.Tensor, axis: int, place: Place) -> tf.Tensor:
        along = int(tensor.op.get_attr("axis")) % (tensor.shape.rank or 1)
        if along == axis:
            raise NotByRows(tensor.op)
        inner = axis - (along < axis)
        return copied(tensor.op, [self.at(one, inner, place) for one in tensor.op.inputs]).outputs[0]

    def _split(self, tensor: tf.Tensor, axis: int, place: Place) -> tf.Tensor:
        op, inputs = tensor.op, list(tensor.op.inputs)
        whole, along = (0, 2) if op.type == "SplitV" else (1, 0)
        if int(constant(inputs[along])) % (tensor.shape.rank or 1) == axis:
            raise NotByRows(op)
        inputs[whole] = self.at(inputs[whole], axis, place)
        return copied(op, inputs).outputs[tensor.value_index]

    def _sliced(self, tensor: tf.Tensor, axis: int, place: Place) -> tf.Tensor:
        operand, begin, _ = tensor.op.inputs
        first, size = [int(one) for one in constant(begin)], tensor.shape.as_list()
        rows = self.at(operand, axis, place.within(-first[axis], False, False))
        first[axis], size[axis] = 0, -1
        return tf.slice(rows, first, size)

    def _cut(self, tensor: tf.Tensor, axis: int, place: Place) -> tf.Tensor:
        """Return rows of `given[begin:end]`, where each dimension is named and kept."""
        operand = tensor.op.inputs[0]
        cuts = _cuts(tensor.op, operand, tensor.op.inputs[1:4])
        if cuts[axis].step != 1:
            raise NotByRows(tensor.op)
        rows = self.at(operand, axis, place.within(-cuts[axis].start, False, False))
        return rows[tuple(slice(None) if one == axis else cut for one, cut in enumerate(cuts))]

    def _cut_gradient(self, tensor: tf.Tensor, axis: int, place: Place) -> tf.Tensor:
        gradient = tensor.op.inputs[4]
        cuts = _cuts(tensor.op, tensor, tensor.op.inputs[1:4])
        if any(cut.step != 1 for cut in cuts):
            raise NotByRows(tensor.op)
        around = [[cut.start, size_of(tensor, one) - cut.stop] for one, cut in enumerate(cuts)]
        return self._surrounded(tensor, gradient, around, axis, place)

    def _padded(self, tensor: tf.Tensor, axis: int, place: Place) -> tf.Tensor:
        operand, paddings = tensor.op.inputs[:2]
        around = [list(map(int, one)) for one in constant(paddings)]
        if tensor.op.type != "Pad":
            raise NotByRows(tensor.op)
        return self._surrounded(tensor, operand, around, axis, place)

    def _surrounded(
        self, whole: tf.Tensor, operand: tf.Tensor, around: list[list[int]], axis: int, place: Place
    ) -> tf.Tensor:
        """Return rows of a tensor that is given between zeros, so many before and behind along each axis."""
        first = around[axis][0]
        if any(around[axis]):
            rows = self.at(operand, axis, place.within(first, True, True))
            rows = self._between(rows, first, first + size_of(operand, axis), axis, whole, place)
        else:
            rows = self.at(operand, axis, place)
        around[axis] = [0, 0]
        return tf.pad(rows, around) if any(map(any, around)) else rows

    def _transposed(self, tensor: tf.Tensor, axis: int, place: Place) -> tf.Tensor:
        operand, order = tensor.op.inputs
        return copied(tensor.op, [self.at(operand, int(constant(order)[axis]), place), order]).outputs[0]

    def _product(self, tensor: tf.Tensor, axis: int, place: Place) -> tf.Tensor:
        operand, kernel = tensor.op.inputs
        turned = tensor.op.get_attr("transpose_a" if tensor.op.type == "MatMul" else "adj_x")
        if turned or axis or operand.shape.rank != 2 or kernel.shape.rank != 2:
            raise NotByRows(tensor.op)
        return copied(tensor.op, [self.at(operand, 0, place), kernel]).outputs[0]

    def _switched(self, tensor: tf.Tensor, axis: int, place: Place) -> tf.Tensor:
        return self.at(tensor.op.inputs[0], axis, place)


def _cuts(op: tf.Operation, whole: tf.Tensor, bounds: Sequence[tf.Tensor]) -> list[slice]:
    """Return the slices of a StridedSlice, or of its gradient, of which each keeps its dimension."""
    if any(op.get_attr(name) for name in ("ellipsis_mask", "new_axis_mask", "shrink_axis_mask")):
        raise NotByRows(op)
    opens, ends = int(op.get_attr("begin_mask")), int(op.get_attr("end_mask"))
    cuts = list[slice]()
    for axis, (begin, end, step) in enumerate(zip(*map(constant, bounds), strict=True)):
        size = size_of(whole, axis)
        wanted = slice(None if opens >> axis & 1 else int(begin), None if ends >> axis & 1 else int(end), int(step))
        cuts.append(slice(*wanted.indices(size)) if int(step) > 0 else wanted)
    if any(cut.step <= 0 for cut in cuts):
        raise NotByRows(op)
    return cuts + [slice(0, size_of(whole, axis), 1) for axis in range(len(cuts), whole.shape.rank or 0)]


_Rule = Callable[[RowsAt, tf.Tensor, int, Place], tf.Tensor]
#: Op types that work row by row as their axes are: each has its method here, and nothing else has to name it.
RULES: dict[str, _Rule] = {
    **dict.fromkeys(_REDUCTIONS, RowsAt._reduced),
    **dict.fromkeys(_RESHAPES, RowsAt._reshaped),
    **dict.fromkeys(("Pad", "PadV2"), RowsAt._padded),
    **dict.fromkeys(("MatMul", "BatchMatMulV2", "BatchMatMul"), RowsAt._product),
    "Tile": RowsAt._tiled,
    "BroadcastTo": RowsAt._broadcast,
    "ConcatV2": RowsAt._joined,
    "Pack": RowsAt._stacked,
    "Split": RowsAt._split,
    "SplitV": RowsAt._split,
    "Slice": RowsAt._sliced,
    "StridedSlice": RowsAt._cut,
    "StridedSliceGrad": RowsAt._cut_gradient,
    "Transpose": RowsAt._transposed,
    "Switch": RowsAt._switched,
}
