"""Finds where rows of a variable are selected, to decide whether the variable is an embedding table.

A value is followed along all ops whose result is the same at each step: it may be read, padded, scaled, reshaped,
concatenated, have dropout applied to a part, and pass through branches, loops and functions. Where it meets values that
vary by step, either integers select from it (a gather, a slice, a partition, a product with sparse ids or one-hot
rows), and then the variable is an embedding table; or it is used like the kernel of a dense layer, and the result
belongs to the batch and is not followed.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from rewriter import _tf_private
from rewriter._tf_private import writes_in_place
from rewriter.flow.varying import SHAPES, Varying, VaryingIn
from rewriter.graph.bodies import LOOPS, Body, body_of_function, body_of_graph, called, gives_results
from rewriter.graph.view import GraphView, Tensor, Use

#: Op types that select from input 0 in any case.
PICKS = (
    *("Gather", "GatherV2", "GatherNd", "ResourceGather", "ResourceGatherNd"),
    *(f"SparseSegment{kind}{form}" for kind in ("Sum", "Mean", "SqrtN") for form in ("", "WithNumSegments")),
)
_MERGES = ("Merge", "RefMerge")
_CARRIERS = ("Switch", "RefSwitch", "Enter", "RefEnter", "Exit", "RefExit", "NextIteration", "RefNextIteration")
#: Op types of products of matrices.
PRODUCTS = ("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "SparseMatMul")
_TRANSPOSED = ("transpose_b", "adj_y")
_BROADCASTS = (
    *("Add", "AddV2", "Sub", "Mul", "MulNoNan", "RealDiv", "Div", "DivNoNan", "FloorDiv", "FloorMod", "Pow"),
    *("Maximum", "Minimum", "SquaredDifference", "SelectV2", "BroadcastTo"),
)
_DEEPEST = 10
#: Integer inputs that give the form of a result or a number of steps; all other integers select from another input.
SHAPING = frozenset(
    {
        *("shape", "dims", "multiples", "axis", "axes", "dim", "dimension", "perm", "paddings", "output_shape"),
        *("reduction_indices", "reduction_axes", "concat_dim", "split_dim", "size_splits", "num_segments", "num"),
        *("input_sizes", "filter_sizes", "ksize", "block_shape", "crops", "element_shape", "num_elements"),
        *("seq_len_max", "sequence_length", "sequence_lengths", "seq_lengths", "shift", "size", "k", "group_size"),
        *("group_key", "instance_key", "seed", "num_lower", "num_upper", "num_rows"),
        *("num_cols", "orig_input_shape", "dense_shape"),
    }
)
#: Ops that only pass on, reshape, scale or sum such rows, which are input 0.
_HANDED_ON = (
    *("Identity", "StopGradient", "Reshape", "Squeeze", "ExpandDims", "Transpose", "Cast", "Sum", "Max", "Mean"),
    *("Tile", "Slice", "StridedSlice", "Switch", "RefSwitch", "Enter", "RefEnter"),
)
_TOGETHER = {"Pack": 0, "AddN": 0, "Add": 0, "AddV2": 0, "ConcatV2": 1}  #: number of trailing inputs that are no rows
_ONES = ("Const", "Fill", "OnesLike")


@dataclass(frozen=True)
class Pick:
    """An op that selects from a variable's value; `path` leads to it, through ops in functions, too."""

    path: tuple[str, ...]
    type: str

    @property
    def op(self) -> str:
        """The name of the op."""
        return self.path[-1]


@dataclass(frozen=True)
class _Step:
    """A tensor that has the value, or a value derived from it, and the ops on the path to it."""

    tensor: Tensor
    path: tuple[str, ...]


class Picks:
    """Follows variables of a graph; what varies by step is computed once."""

    def __init__(self, view: GraphView) -> None:
        self._graph = body_of_graph(view)
        self._functions = view.functions

    def of(self, variable: str) -> Pick | None:
        """Return the first op that selects rows of a variable or of a value derived from it; None if there is none."""
        shape = tf.TensorShape(self._graph.nodes[variable].attr["shape"].shape)
        if shape.rank == 0 or (shape.is_fully_defined() and shape.num_elements() == 0):
            return None  # the anchor of a table has no rows
        picks = self._search(self._graph, (), [_Step(Tensor(variable), (variable,))], 0)
        return next((one for one in picks if isinstance(one, Pick)), None)

    @functools.cached_property
    def _bodies(self) -> dict[str, Body]:
        return {name: body_of_function(one, self._functions) for name, one in self._functions.items()}

    @functools.cached_property
    def _varying(self) -> Varying:
        return Varying(self._bodies, self._functions)

    def _search(self, body: Body, arguments: Iterable[str], starts: list[_Step], depth: int) -> Iterator[Pick | _Step]:
        """Yield where rows are selected in a body, and the results of a function that the value reaches."""
        varying = self._varying.of(body, tuple(arguments))
        pending, known = deque(starts), {one.tensor for one in starts}
        while pending:
            step = pending.popleft()
            if step.tensor in body.results:
                yield step
            for use in body.users(step.tensor.op):
                if body.inputs(use.op)[use.input] != step.tensor:
                    continue
                for further in self._use(body, varying, use, step, depth):
                    if isinstance(further, Pick):
                        yield further
                    elif further.tensor not in known:
                        known.add(further.tensor)
                        pending.append(further)

    def _use(self, body: Body, varying: VaryingIn, use: Use, step: _Step, depth: int) -> Iterator[Pick | _Step]:
        kind, path = body.type(use.op), (*step.path, use.op)
        if kind in PICKS:
            if use.input == 0:
                yield Pick(path, kind)
        elif called(body, use.op, self._functions):
            yield from self._called(body, varying, use, path, depth)
        elif writes_in_place(body.nodes[use.op]):
            if use.input == 0:
                yield _Step(Tensor(use.op), path)
        elif kind in (*_MERGES, *_CARRIERS):
            is_merged = kind in _MERGES or use.input == 0  # not the predicate of a Switch
            yield from (_Step(Tensor(use.op, number), path) for number in range(2) if is_merged)
        elif kind not in SHAPES:
            yield from self._computed(body, varying, use, path)

    def _computed(self, body: Body, varying: VaryingIn, use: Use, path: tuple[str, ...]) -> Iterator[Pick | _Step]:
        """Continue behind an op that derives something from the value, or yield that the op selects from it."""
        inputs, kind = body.inputs(use.op), body.type(use.op)
        operand = inputs[use.input]
        others = [number for number, one in enumerate(inputs) if number != use.input and one in varying]
        node = body.nodes[use.op]
        if any(_picks_by(node, number, use.input) or _is_one_hot(body, inputs[number]) for number in others):
            yield Pick(path, kind)
        elif self._goes_on(body, use, operand, bool(others)):
            outputs = {body.inputs(one.op)[one.input] for one in body.users(use.op)}
            outputs |= {one for one in body.results if one.op == use.op}
            yield from (_Step(one, path) for one in sorted(outputs))

    @staticmethod
    def _goes_on(body: Body, use: Use, operand: Tensor, varies: bool) -> bool:
        """Whether the result still has the rows: it is not a single number, not other rows, and not of the batch."""
        kind, node = body.type(use.op), body.nodes[use.op]
        before, after = body.shape(operand), body.shape(Tensor(use.op))
        if after.rank == 0:
            return False
        if varies:
            return bool(before.is_fully_defined() and before == after and kind not in PRODUCTS)
        if kind in PRODUCTS and use.input == 1:
            return any(node.attr[name].b for name in _TRANSPOSED if name in node.attr)
        if kind in _BROADCASTS and before.rank is not None and after.rank is not None:
            return bool(before.rank == after.rank and before[0] == after[0])
        return True

    def _called(
        self, body: Body, varying: VaryingIn, use: Use, path: tuple[str, ...], depth: int
    ) -> Iterator[Pick | _Step]:
        """Continue in the functions that an op calls, and behind the op if the value is among their results."""
        for name in called(body, use.op, self._functions) if depth < _DEEPEST else ():
            function = self._bodies[name]
            place = use.input - len(body.inputs(use.op)) + len(function.arguments)
            if not 0 <= place < len(function.arguments):
                continue
            start = _Step(Tensor(function.arguments[place]), path)
            for pick in self._inside(body, varying, use.op, function, start, depth):
                if isinstance(pick, Pick):
                    yield pick
                elif gives_results(body, use.op, name, self._functions):
                    numbers = _numbers(function, pick.tensor)
                    yield from (_Step(Tensor(use.op, number), pick.path) for number in numbers)

    def _inside(
        self, body: Body, varying: VaryingIn, op: str, function: Body, start: _Step, depth: int
    ) -> Iterator[Pick | _Step]:
        """Search a function; values that a loop passes to its next iteration are searched again."""
        loops = body.type(op) in LOOPS
        arguments = self._varying.arguments(body, op, function, varying)
        starts, known = [start], {start.tensor}
        while starts:
            picks = list(self._search(function, arguments, starts, depth + 1))
            yield from picks
            results = [one for one in picks if isinstance(one, _Step) and loops and function.results]
            again = [
                _Step(Tensor(function.arguments[n]), one.path)
                for one in results
                for n in _numbers(function, one.tensor)
            ]
            starts = [one for one in again if one.tensor not in known]
            known.update(one.tensor for one in starts)


def _numbers(function: Body, result: Tensor) -> list[int]:
    return [number for number, one in enumerate(function.results) if one == result]


def _picks_by(node: Any, number: int, argument: int) -> bool:
    """Whether an input of an op holds integers that select parts of the one at `argument`; also if the op is unknown.

    Inputs that share the attribute of their type are peers, ids among them: a concatenation selects nothing.
    """
    arguments = _tf_private.arguments_of(node)
    if arguments is None or max(number, argument) >= len(arguments):
        return True
    name, kind, attribute = arguments[number]
    peers = attribute != "" and attribute == arguments[argument][2]
    return bool(kind) and tf.as_dtype(kind).base_dtype.is_integer and name not in SHAPING and not peers


def _is_one_hot(body: Body, tensor: Tensor) -> bool:
    """Whether everything that a tensor is computed from is one-hot rows; false for a dense input that is so in part."""
    pending, known = [tensor], {tensor}
    while pending:
        source = pending.pop()
        before = _before(body, source)
        if before is None:
            return False
        pending += [tensor for tensor in before if tensor not in known]
        known.update(before)
    return True


def _before(body: Body, tensor: Tensor) -> Sequence[Tensor] | None:
    """Return the tensors that must be one-hot for a tensor to be one-hot; None if it cannot be."""
    op, kind = tensor.op, body.type(tensor.op)
    if kind in ("OneHot", "SparseToDense") or (kind == "Equal" and _of_integers(body, op)):
        return ()
    if kind == "ScatterNd":
        return () if body.type(body.inputs(op)[1].op) in _ONES else None
    if kind in _TOGETHER:
        inputs = body.inputs(op)
        return inputs[: len(inputs) - _TOGETHER[kind]]
    if kind == "Mul":  # by weights, one for each row
        wide = [one for one in body.inputs(op) if _width(body, one) != 1]
        return wide if len(wide) == 1 else None
    return body.inputs(op)[:1] if kind in _HANDED_ON else None


def _width(body: Body, tensor: Tensor) -> int | None:
    shape = body.shape(tensor)
    if shape.rank is None:
        return None
    return 1 if shape.rank == 0 else shape[-1]


def _of_integers(body: Body, op: str) -> bool:
    kind = body.nodes[op].attr["T"].type
    return bool(kind) and tf.as_dtype(kind).is_integer
