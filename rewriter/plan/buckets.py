"""Finds the ops that divide the ids of tables into buckets, and whether lookups can read wide ids instead.

Comparisons that do not tell one row from another, and bounds that let all rows pass, leave ids as they are.
"""

from __future__ import annotations

import collections
import functools
import operator
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from rewriter.facts import Table
from rewriter.graph.view import GraphView, Tensor, Use
from rewriter.plan.vocabularies import FINDS, number_of, other_id
from runtime.storage.buckets import Buckets

#: Ops that hash, with the output that has the buckets.
HASHES = {
    "StringToHashBucketFast": 0,
    "StringToHashBucketStrong": 0,
    "StringToHashBucket": 0,
    "SparseCross": 1,
}
_REMAINDER = "FloorMod"
REMAINDERS = (_REMAINDER, "Mod", "TruncateMod")
#: An op of no graph, by which datasets hand on what their elements consist of.
HANDS_ON_ALL = "Elements"
_ALL = slice(None)
#: Ops that hand ids on, some of them with ids that are the same at each step: by type, the inputs with the ids and the
#: outputs that they leave by.
HANDS_ON: dict[str, tuple[slice, slice]] = {
    **dict.fromkeys(
        ["Identity", "Reshape", "ExpandDims", "Squeeze", "StopGradient", "Transpose"], (slice(1), slice(1))
    ),
    **dict.fromkeys(
        ["StridedSlice", "Slice", "Tile", "Unique", "UniqueV2", "Cast", "EnsureShape"], (slice(1), slice(1))
    ),
    **dict.fromkeys(["Gather", "GatherV2", "GatherNd", "ReverseV2", "BroadcastTo", "Pad"], (slice(1), slice(1))),
    "PadV2": (slice(0, 3, 2), slice(1)),
    **dict.fromkeys(["Unpack", "SplitV", "DynamicPartition"], (slice(1), _ALL)),
    "Split": (slice(1, 2), _ALL),
    **dict.fromkeys(["SparseFillEmptyRows", "SparseReorder", "SparseSlice"], (slice(1, 2), slice(1, 2))),
    "SparseConcat": (_ALL, slice(1, 2)),
    "SparseToDense": (slice(2, 4), slice(1)),
    "RaggedTensorToTensor": (slice(1, 3), slice(1)),
    "RaggedTensorToSparse": (slice(-1, None), slice(1, 2)),
    "SerializeSparse": (slice(1, 2), slice(1)),
    "DeserializeSparse": (slice(1), slice(1, 2)),
    **dict.fromkeys(["Pack", HANDS_ON_ALL], (_ALL, slice(1))),
    "ConcatV2": (slice(-1), slice(1)),
    **dict.fromkeys(["Select", "SelectV2"], (slice(1, 3), slice(1))),
}
_NOTHING: tuple[slice, slice] = (slice(0), slice(0))
_OUTPUTS = range(2**31)
#: Ops that move ids by a number.
_MOVES = ("AddV2", "Add")
_INT64, _UINT64 = 9, 23  # of tf.DType.as_datatype_enum
#: Of how many numbers ids may be moved by one; each subset of `n` that are added one after the other is another sum.
_MOST_MOVES = 64
#: Gradients of pooled lookups, which check that ids are rows of the variable.
POOLED_GRADIENTS = re.compile("SparseSegment(Sum|Mean|SqrtN)GradV2")


@dataclass(frozen=True)
class Shown:
    """What a view shows of datasets, as if their functions were a part of the graph.

    Of some ops it is `known` why ids keep their buckets there; ops that are `closed` are in functions, where none can
    be added. Some are no ops, but `elements` that ops of the graph read.
    """

    known: Mapping[str, str] = field(default_factory=dict)
    closed: Container[str] = ()
    elements: Mapping[str, Tensor] = field(default_factory=dict)

    @functools.cached_property
    def names(self) -> dict[Tensor, Tensor]:
        """What the view shows in the place of elements."""
        return {tensor: Tensor(name) for name, tensor in self.elements.items()}


@dataclass(frozen=True)
class Bucketing:
    """An op whose `output` are ids in `buckets`."""

    op: str
    output: Tensor
    buckets: int
    #: Which rows of the variable the buckets are.
    layout: Buckets
    #: What is added to its output before a lookup; and what wide numbers have added, so that none is another row's id.
    moved: int = 0
    added: int = 0


@dataclass
class Group:
    """Tables that give up their buckets together, as each op that divides their ids gives the same wide ids to all."""

    bucketings: dict[str, Bucketing] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    #: How the ids of each table divide, and by which ops.
    layouts: dict[str, Buckets] = field(default_factory=dict)
    by: dict[str, list[str]] = field(default_factory=dict)

    def fits(self, bucketings: Mapping[str, Bucketing]) -> bool:
        """Whether ops of the group that are among these give the same wide ids."""
        return all(self.bucketings.get(op, one) == one for op, one in bucketings.items())

    def add(self, table: Table, bucketings: Mapping[str, Bucketing]) -> None:
        """Add a table."""
        self.bucketings |= bucketings
        self.tables[table.name], self.layouts[table.name] = table, next(iter(bucketings.values())).layout
        for op in bucketings:
            self.by.setdefault(op, []).append(table.name)


def groups_of(view: GraphView, tables: Sequence[Table], shown: Shown) -> tuple[list[Group], dict[str, str]]:
    """Return the tables whose ids come out of ops that divide them, and by the names of the others the reason."""
    groups, reasons = list[Group](), dict[str, str]()
    for table in tables:
        search = _Search(view, table, shown)
        reason = search.reason() or _shared(groups, search.bucketings, shown)
        if reason:
            reasons[table.name] = reason
            continue
        group = next((one for one in groups if one.fits(search.bucketings)), None)
        if group is None:
            group = Group()
            groups.append(group)
        group.add(table, search.bucketings)
    return groups, reasons


def _shared(groups: Sequence[Group], bucketings: Mapping[str, Bucketing], shown: Shown) -> str:
    """Return a reason if a function of a dataset would have to give wide ids of two kinds."""
    for op in bucketings:
        if op in shown.closed:
            for group in groups:
                if op in group.bucketings and group.bucketings[op] != bucketings[op]:
                    return f"`{op}` also divides the ids of `{group.by[op][0]}`, which has another number of rows"
    return ""


def handed_on(view: GraphView, op: str, rows: int) -> tuple[list[tuple[int, int]], range]:
    """Return the inputs whose ids an op hands on, each with the number that it adds, and the outputs they leave by.

    None are handed on by an op that does something else with ids of a variable of so many `rows`.
    """
    kind, inputs = view.type(op), view.inputs(op)
    if kind in _MOVES or kind in BOUNDS:
        numbers = [number_of(view, one) for one in inputs]
        for place, number in enumerate(reversed(numbers)):
            if number is not None and (kind in _MOVES or passes_all(kind, number, rows)):
                return [(place, number if kind in _MOVES else 0)], range(1)
        return [], range(0)
    if POOLED_GRADIENTS.fullmatch(kind):
        return [(1, 0)], range(1, 2)
    if kind == "Cast" and view.attribute(op, "DstT").type != _INT64:
        return [], range(0)
    carrying, outputs = HANDS_ON.get(kind, _NOTHING)
    if kind == "SparseConcat":  # indices, values and shapes
        third = len(inputs) // 3
        carrying = slice(third, 2 * third)
    return [(place, 0) for place in range(len(inputs))[carrying]], _OUTPUTS[outputs]


class _Search:
    """Walks from the lookups of a table, and from its steps, to the ops that made their ids."""

    def __init__(self, view: GraphView, table: Table, shown: Shown) -> None:
        self._view, self._table, self._shown = view, table, shown
        self.bucketings: dict[str, Bucketing] = {}
        #: Ids that are the same at each step, and the vocabularies that give words no id.
        self._fixed: list[int] = []
        self._without_others: list[str] = []
        #: Ops that cut ids which are no rows.
        self._bounded: list[str] = []

    def reason(self) -> str:
        """Return why the table keeps its buckets; "" if it does not."""
        if len(self._table.parts) > 1:
            return "its variable is partitioned, and ids are split over its parts by their buckets"
        if self._table.row_ops:
            return "its optimizer is written out as reads and writes of rows"
        if any(lookup.product for lookup in self._table.lookups):
            return "its ids are columns of a sparse matrix"
        indices = (ids for update in self._table.updates for _, ids in update.gradients)
        for ids in (*(lookup.ids for lookup in self._table.lookups), *indices):
            for reason in self._origins(self._shown.names.get(ids, ids)):
                return reason
        if not self.bucketings:
            return (
                f"words outside of the vocabulary of `{self._without_others[0]}` get no row: give it an "
                "out-of-vocabulary bucket"
                if self._without_others
                else "its ids are constants, the same at each step"
            )
        if self._bounded and not all(0 <= number < self._table.rows for number in self._fixed):
            return f"`{self._bounded[0]}` keeps ids in a range, and some ids that it gets have no row"
        return ""

    def _origins(self, ids: Tensor) -> Iterator[str]:
        """Note the ops that divide the ids; yield a reason for ids that come from elsewhere."""
        pending, known = [(ids, 0)], collections.defaultdict[Tensor, set[int]](set)
        while pending:
            tensor, moved = pending.pop()
            if moved in known[tensor]:
                continue
            known[tensor].add(moved)
            if len(known[tensor]) > _MOST_MOVES:
                yield f"`{tensor.op}` reaches its lookups with more than {_MOST_MOVES} different numbers added"
                return
            if tensor.op in self._shown.known:
                yield self._shown.known[tensor.op]
                continue
            kind = self._view.type(tensor.op)
            yield from self._casts(tensor.op)
            buckets, first = self._buckets(tensor)
            before = self._before(tensor)
            number = None if before else number_of(self._view, tensor)
            if buckets:
                yield from self._divides(tensor, buckets, first + moved, moved)
            elif before:
                if kind == "Minimum":
                    self._bounded.append(tensor.op)
                    yield from self._added(tensor.op)
                pending += [(one, moved + more) for one, more in before]
            elif number is not None:
                self._fixed.append(number + moved)
            elif kind in FINDS:
                self._fixed.append(-1)
                self._without_others.append(tensor.op)
            elif kind in BOUNDS:
                yield f"`{tensor.op}` ({kind}) keeps its ids below its number of rows, so some rows are never looked up"
            else:
                yield self._other(tensor.op, kind)

    def _other(self, op: str, kind: str) -> str:
        """Return why an op that ids come out of is none whose buckets they give up."""
        said = f"`{op}` ({kind})"
        if kind in _MOVES:
            return (
                f"{said} adds to its ids a number that the graph does not show, such as how many words a vocabulary has"
            )
        if kind not in REMAINDERS:
            return f"its ids come out of {said}, which does not show whether they are numbers of buckets"
        divisor = self._view.number(self._view.inputs(op)[1])
        of = tf.as_dtype(self._view.attribute(op, "T").type)
        if divisor is None:
            return f"{said} divides ids by a number that the graph does not show: make the number of buckets a constant"
        if divisor < 1:
            return f"{said} divides ids by {divisor}, which is no number of buckets: give a positive number"
        if kind != _REMAINDER:
            return f"{said} gives negative ids negative rows: divide with tf.math.floormod"
        return f"{said} divides {of.name} ids, too few bits for ids without buckets: cast them to tf.int64 before"

    def _casts(self, op: str) -> Iterator[str]:
        """Yield a reason if an op casts buckets to or from other numbers than those of 64 bits."""
        kinds = (
            [self._view.attribute(op, name).type for name in ("SrcT", "DstT")] if self._view.type(op) == "Cast" else []
        )
        other = next((tf.as_dtype(kind) for kind in kinds if kind != _INT64 and kinds != [_UINT64, _INT64]), None)
        if other is None or not any(
            self._buckets(Tensor(one, HASHES.get(self._view.type(one), 0)))[0]
            for one in self._view.ancestors(self._view.inputs(op))
        ):
            return
        if other == tf.int32:
            yield f"`{op}` casts its ids to 32 bits, too few for ids without buckets: look them up as tf.int64"
        else:
            yield f"`{op}` makes its ids {other.name}, which is exact for small ids alone: keep them tf.int64"

    def _before(self, tensor: Tensor) -> list[tuple[Tensor, int]]:
        """Return what an op hands on, with the number that it adds; nothing if it does something else."""
        inputs = self._view.inputs(tensor.op)
        if self._view.type(tensor.op) == "Cast":
            return [(inputs[0], 0)]  # whose other numbers may come out of buckets, too
        carrying, outputs = handed_on(self._view, tensor.op, self._table.rows)
        return [(inputs[place], more) for place, more in carrying] if tensor.output in outputs else []

    def _divides(self, tensor: Tensor, buckets: int, first: int, moved: int) -> Iterator[str]:
        """Note an op that divides ids into buckets, the first of which is a row of the variable."""
        rows = self._table.rows
        if first < 0 or first + buckets > rows:
            beginning = f" from {first} on" if first else ""
            yield (f"`{tensor.op}` divides ids into {buckets} buckets{beginning}, and the variable has {rows} rows")
            return
        is_last = first + buckets == rows
        layout = Buckets(buckets, first) if is_last else Buckets(buckets, first, rows)
        for other in self.bucketings.values():
            if other.layout != layout:
                yield (
                    f"`{tensor.op}` and `{other.op}` divide ids into buckets that are different rows: {buckets} from "
                    f"{first} on, {other.buckets} from {other.layout.first} on"
                )
        added = 0 if is_last and self._view.type(tensor.op) not in FINDS else rows - moved
        if added:
            yield from self._added(tensor.op)
        self.bucketings[tensor.op] = Bucketing(tensor.op, tensor, buckets, layout, moved, added)

    def _added(self, op: str) -> Iterator[str]:
        """Yield a reason if no op can be added beside one."""
        if op in self._shown.closed:
            yield (
                f"`{op}` is in a function of a dataset, to which no op can be added: divide ids outside of the "
                "function, or give the buckets the last rows of the variable"
            )

    def _buckets(self, tensor: Tensor) -> tuple[int, int]:
        """Return the number of buckets that an op divides into, and the first of them; 0 if it divides nothing."""
        kind = self._view.type(tensor.op)
        if HASHES.get(kind) == tensor.output:
            return int(self._view.attribute(tensor.op, "num_buckets").i), 0
        if kind in FINDS and self._view.attribute(tensor.op, "Tout").type == _INT64:
            other = other_id(self._view, tensor.op)
            return (0, 0) if other is None or other < 0 else (1, other)
        if kind != _REMAINDER or self._view.attribute(tensor.op, "T").type not in (_INT64, _UINT64):
            return 0, 0
        return max(0, int(self._view.number(self._view.inputs(tensor.op)[1]) or 0)), 0


_ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "GreaterEqual": operator.ge,
    "Greater": operator.gt,
    "Less": operator.lt,
    "LessEqual": operator.le,
}
_EQUAL: dict[str, Callable[[Any, Any], bool]] = {"Equal": operator.eq, "NotEqual": operator.ne}
#: Ops that bound ids, with the number by which they bound nothing.
BOUNDS = {"Minimum": 2**63 - 1, "Maximum": -(2**63)}


def tells_none_apart(view: GraphView, use: Use, rows: int, others: Sequence[int]) -> bool:
    """Whether an op compares ids with a number, and the answer is the same for all ids of `rows` and for `others`."""
    kind = view.type(use.op)
    compare = (_ORDERED | _EQUAL).get(kind)
    number = None if compare is None else number_of(view, view.inputs(use.op)[1 - use.input])
    if compare is None or number is None or (kind in _EQUAL and 0 <= number < rows):
        return False
    answers = {compare(row, number) if use.input == 0 else compare(number, row) for row in (0, rows - 1, *others)}
    return len(answers) == 1


def passes_all(kind: str, number: int, rows: int) -> bool:
    """Whether all ids of `rows` pass an op of `BOUNDS` by this number."""
    return number >= rows - 1 if kind == "Minimum" else number <= 0
