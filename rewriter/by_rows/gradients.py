"""Gradients with all rows, of steps and of norms, that are computed from the rows of lookups alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import tensorflow as tf

from rewriter.by_rows.place import NotByRows, size_of
from rewriter.by_rows.rows_at import RowsAt
from rewriter.by_rows.support import Spread, Support, rows_of_gradient
from rewriter.facts import Scale, WholeGradient
from rewriter.graph.view import GraphView, Tensor
from rewriter.patterns.branches import READS, source
from rewriter.patterns.fused import DENSE
from rewriter.patterns.matching import Mismatch
from rewriter.patterns.whole_table import dense_gradient, only_in


@dataclass(frozen=True)
class StepByRows:
    """A gradient in the place of that of a step, and the numbers in the place of norms of gradients on the way."""

    gradient: tf.Tensor
    norms: dict[str, tf.Tensor]


@dataclass(frozen=True)
class _Term:
    """A part of a sum: a tensor, and the numbers by which it is multiplied and divided on the way to the sum."""

    tensor: tf.Tensor
    factors: tuple[tf.Tensor, ...] = ()
    divisors: tuple[tf.Tensor, ...] = ()

    def scaled(self, rows: tf.Tensor) -> tf.Tensor:
        """Return a tensor with the scales of this term."""
        for factor in self.factors:
            rows = rows * tf.reshape(factor, [])
        for factor in self.divisors:
            rows = rows / tf.reshape(factor, [])
        return rows


def step_by_rows(graph: tf.Graph, view: GraphView, op: tf.Operation, every: int) -> StepByRows | None:
    """Build the gradient of a dense step from rows of lookups; None if it is already in a form that tables have.

    Raises:
        NotByRows: it is not computed row by row, or not zero in the rows that are not looked up.
    """
    variable = source(view, view.inputs(op.name)[0]).op
    number = DENSE[op.type].gradient
    gradient = dense_gradient(view, variable, view.inputs(op.name)[number])
    if not isinstance(gradient, Mismatch) and only_in(view, gradient, op.name) is None:
        return None
    return _Step(graph, view, variable, op.inputs[number], every).build()


class _Step:
    def __init__(self, graph: tf.Graph, view: GraphView, variable: str, gradient: tf.Tensor, every: int) -> None:
        self._graph, self._view, self._variable = graph, view, variable
        self._gradient, self._every = gradient, every
        self._support = Support(graph)

    def build(self) -> StepByRows:
        terms = list(self._terms(_Term(self._gradient)))
        sparse = [one for one in terms if self._support.of(one.tensor) is not None]
        whole = [one for one in terms if self._support.of(one.tensor) is None]
        spread: dict[Spread, None] = {}
        for summand in sparse:
            spread |= self._support.of(summand.tensor) or {}
        if not spread or any(self._known_multiple(one.tensor) is None for one in whole):
            raise NotByRows(self._gradient.op)
        size = size_of(self._gradient, 0)
        rows = rows_of_gradient(self._graph, list(spread), size)
        values = tf.add_n([one.scaled(rows.at(one.tensor)) for one in sparse]) if whole else rows.at(self._gradient)
        norms = dict(self._norms(rows))
        total = tf.math.unsorted_segment_sum(values, rows.keys, tf.constant(size, rows.keys.dtype))
        total.set_shape(self._gradient.shape)
        rows.let_wait(total.op, *(one.tensor.op for one in whole), self._gradient.op)
        if whole:
            total = tf.add_n([total, *(one for term in whole for one in self._multiples(term))])
        return StepByRows(total, norms)

    def _terms(self, term: _Term) -> Iterator[_Term]:
        """Yield the parts of a gradient that are added up, unless it is zero in all rows that are not looked up."""
        op, tensor = term.tensor.op, term.tensor
        if self._support.of(tensor) is not None:
            yield term
        elif op.type in ("AddN", "Add", "AddV2") and all(one.shape == tensor.shape for one in op.inputs):
            for operand in op.inputs:
                yield from self._terms(_Term(operand, term.factors, term.divisors))
        elif op.type in ("Identity", "StopGradient") and self._known_multiple(tensor) is None:
            yield from self._terms(_Term(op.inputs[0], term.factors, term.divisors))
        elif op.type in ("Mul", "RealDiv") and self._known_multiple(tensor) is None:
            whole = [one for one in op.inputs if one.shape.num_elements() != 1]
            if len(whole) != 1 or (op.type == "RealDiv" and whole[0].name != op.inputs[0].name):
                raise NotByRows(op)
            other = next(one for one in op.inputs if one.name != whole[0].name)
            if op.type == "Mul":
                yield from self._terms(_Term(whole[0], (*term.factors, other), term.divisors))
            else:
                yield from self._terms(_Term(whole[0], term.factors, (*term.divisors, other)))
        else:
            yield term

    def _known_multiple(self, tensor: tf.Tensor) -> WholeGradient | None:
        """Return the scales of a tensor that is a multiple of the variable, or of its sign; None if it is not."""
        gradient = dense_gradient(self._view, self._variable, Tensor(tensor.op.name, tensor.value_index))
        return None if isinstance(gradient, Mismatch) or gradient.sums else gradient.whole

    def _multiple(self, term: _Term) -> WholeGradient:
        multiple = self._known_multiple(term.tensor)
        if multiple is None:
            raise NotByRows(term.tensor.op)
        return multiple

    def _multiples(self, term: _Term) -> Iterator[tf.Tensor]:
        """Yield the multiples of the variable, and of its sign, that a term is, from ops that nothing else reads."""
        read, scales = self._read(term.tensor), self._multiple(term)
        yield from (read * term.scaled(_number(one, self._graph)) for one in scales.l2)
        yield from (tf.sign(read) * term.scaled(_number(one, self._graph)) for one in scales.l1)

    def _norms(self, rows: RowsAt) -> Iterator[tuple[str, tf.Tensor]]:
        """Yield the half squared norms of gradients on the way, which clipping needs, by the tensors they replace."""
        for tensor in self._on_the_way():
            for user in tensor.consumers():
                if user.type == "L2Loss":
                    yield user.outputs[0].name, self._norm(tensor, rows)
                elif user.type in ("Mul", "Square") and all(one.name == tensor.name for one in user.inputs):
                    sums = [one.outputs[0] for one in user.outputs[0].consumers() if _sums_all(one)]
                    yield from ((one.name, tf.reshape(2 * self._norm(tensor, rows), one.shape)) for one in sums)

    def _on_the_way(self) -> list[tf.Tensor]:
        """Return the gradients of all rows that the step's is computed from."""
        way: dict[str, tf.Tensor] = {}
        pending = [self._gradient]
        while pending:
            tensor = pending.pop()
            if tensor.name in way or tensor.shape != self._gradient.shape or self._known(tensor):
                continue
            if self._known_multiple(tensor) is not None:
                continue
            way[tensor.name] = tensor
            pending += list(tensor.op.inputs) if tensor.op.type != "UnsortedSegmentSum" else []
        return list(way.values())

    def _known(self, tensor: tf.Tensor) -> bool:
        return source(self._view, Tensor(tensor.op.name, tensor.value_index)).op == self._variable

    def _norm(self, tensor: tf.Tensor, rows: RowsAt) -> tf.Tensor:
        terms = list(self._terms(_Term(tensor)))
        whole = [one for one in terms if self._support.of(one.tensor) is None]
        norm = tf.nn.l2_loss(rows.at(tensor))
        if not whole:
            return norm
        if self._every > 1 or any(self._multiple(one).l1 for one in whole):
            raise NotByRows(tensor.op)
        factors = [one.scaled(_number(scale, self._graph)) for one in whole for scale in self._multiple(one).l2]
        read = self._read(whole[0].tensor)
        rest = tf.nn.l2_loss(read) - tf.nn.l2_loss(rows.at(read))
        return norm + tf.square(tf.add_n(factors)) * rest

    def _read(self, multiple: tf.Tensor) -> tf.Tensor:
        """Return the read of the variable that a multiple of it is computed from."""
        pending = [multiple]
        while pending:
            op = pending.pop()
            if op.op.type in READS and self._known(op):
                return op
            pending += [given for given in op.op.inputs if given.shape == multiple.shape]
        raise NotByRows(multiple.op)


def _sums_all(op: tf.Operation) -> bool:
    """Whether an op is the sum of all elements of its input, perhaps with dimensions of one."""
    return bool(op.type == "Sum" and op.outputs[0].shape.num_elements() == 1)


def _number(scale: Scale, graph: tf.Graph) -> tf.Tensor:
    number = tf.constant(1.0)
    for factor in scale.factors:
        number *= _scalar(factor, graph)
    for factor in scale.divisors:
        number /= _scalar(factor, graph)
    return number


def _scalar(number: Tensor | float, graph: tf.Graph) -> tf.Tensor:
    return tf.reshape(graph.get_tensor_by_name(str(number)), []) if isinstance(number, Tensor) else tf.constant(number)
