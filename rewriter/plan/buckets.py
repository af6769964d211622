"""Finds the ops that divide the ids of tables into buckets, and whether they can give wide ids instead."""

from __future__ import annotations

import collections
import itertools
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rewriter.facts import Table
from rewriter.graph.view import GraphView, Tensor, Use
from rewriter.plan.comparisons import BOUNDS, bound_of, common_answer
from rewriter.plan.vocabularies import FINDS, number_of, other_id
from runtime.storage.buckets import Buckets

__all__ = ["HANDS_ON", "HANDS_ON_ALL", "HASHES", "Bucketing", "Readers", "find_buckets", "layouts_of"]

#: Ops that hash, with the output that has the buckets.
HASHES = {
    "StringToHashBucketFast": 0,
    "StringToHashBucketStrong": 0,
    "StringToHashBucket": 0,
    "SparseCross": 1,
}
_REMAINDER = "FloorMod"
#: An op of no graph, by which datasets hand on what their elements consist of.
HANDS_ON_ALL = "Elements"
#: Ops that hand ids on: by type, the inputs with the ids and the output that they leave by.
HANDS_ON: dict[str, tuple[slice, int]] = {
    **dict.fromkeys(["Identity", "Reshape", "ExpandDims", "Squeeze", "StopGradient", "Transpose"], (slice(1), 0)),
    **dict.fromkeys(["StridedSlice", "Slice", "Tile", "Unique", "UniqueV2", "Cast", "EnsureShape"], (slice(1), 0)),
    **dict.fromkeys(["Gather", "GatherV2", "GatherNd"], (slice(1), 0)),
    "SparseFillEmptyRows": (slice(1, 2), 1),
    "SerializeSparse": (slice(1, 2), 0),
    "DeserializeSparse": (slice(1), 1),
    **dict.fromkeys(["Pack", HANDS_ON_ALL], (slice(None), 0)),
    "ConcatV2": (slice(-1), 0),
    **dict.fromkeys(["Select", "SelectV2"], (slice(1, 3), 0)),
}
_NOTHING: tuple[slice, int] = (slice(0), 0)
#: Ops that move ids by a number.
_MOVES = ("AddV2", "Add")
#: Ops that read how many ids there are.
_COUNTS = ("Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike")
_INT64 = 9  # tf.int64.as_datatype_enum
#: Of how many numbers ids may be moved by one; each subset of `n` that are added one after the other is another sum.
_MOST_MOVES = 64
_GRADIENTS = re.compile("SparseSegment(Sum|Mean|SqrtN)GradV2")


@dataclass(frozen=True)
class Readers:
    """Readers of wide ids that need an edit, besides lookups."""

    #: The gradients of pooled lookups, which check that ids are rows of the variable.
    gradients: dict[str, None] = field(default_factory=dict)
    #: Comparisons of ids, which are answered as for any row, and inputs that bound ids.
    compared: dict[Use, None] = field(default_factory=dict)
    bounds: dict[Use, None] = field(default_factory=dict)

    def add(self, other: Readers) -> None:
        """Add what another one has."""
        self.gradients.update(other.gradients)
        self.compared.update(other.compared)
        self.bounds.update(other.bounds)


@dataclass(frozen=True)
class Bucketing:
    """An op that divides ids into `buckets`, and what reads its `output`."""

    op: str
    output: Tensor
    buckets: int
    uses: tuple[Use, ...]
    #: Which rows of the variable the buckets are.
    layout: Buckets
    #: What wide numbers have added, so that none is the id of another row.
    added: int = 0
    #: The tables whose ids it divides.
    tables: tuple[str, ...] = ()
    readers: Readers = field(default_factory=Readers)


def find_buckets(
    view: GraphView, tables: Sequence[Table], known: Mapping[str, str], closed: Container[str] = ()
) -> tuple[list[Bucketing], dict[str, str]]:
    """Return the ops to widen, and for each of the tables that cannot give up its buckets the reason.

    All readers of a widened op lead to lookups and steps of tables that give up as many buckets. Of some ops it is
    `known` why ids keep their buckets there; beside those that are `closed` no op can be added.
    """
    reasons: dict[str, str] = {}
    while True:
        left = [table for table in tables if table.name not in reasons]
        alike: dict[int, _Alike] = {}
        for table in left:
            alike.setdefault(table.rows, _Alike()).add(table)
        found: dict[str, Bucketing] = {}
        fresh: dict[str, str] = {}
        for table in left:
            search = _Search(view, table, alike[table.rows], known, closed)
            reason = search.reason()
            if reason:
                fresh[table.name] = reason
            for op, one in search.found.items():
                other = found.get(op, one)
                other.readers.add(one.readers)
                if (one.layout, one.added) != (other.layout, other.added):
                    fresh[table.name] = f"`{op}` divides the ids of `{other.tables[0]}`, too, whose rows are others"
                found[op] = replace(other, tables=(*other.tables, table.name) if op in found else (table.name,))
        if not fresh:
            return list(found.values()), reasons
        reasons |= fresh


def layouts_of(found: Iterable[Bucketing]) -> dict[str, Buckets]:
    """Return by the names of tables how their ids divide."""
    return {name: one.layout for one in found for name in one.tables}


class _Alike:
    """The tables of one number of rows."""

    def __init__(self) -> None:
        self.steps: set[str] = set()
        self.lookups: set[str] = set()
        #: What reads the buckets of an op, and why it must not read others; by whether fixed ids are rows.
        self.readers: dict[tuple[str, bool], tuple[Readers, list[str]]] = {}

    def add(self, table: Table) -> None:
        """Add the ops of a table."""
        self.steps.update(op for step in table.updates for op in (*step.ops, *step.arithmetic))
        self.lookups.update(op for lookup in table.lookups for op in (lookup.op, *lookup.gathers))


class _Search:
    """Walks from the lookups of a table to the ops that made their ids, and on to all that these reach."""

    def __init__(
        self,
        view: GraphView,
        table: Table,
        alike: _Alike,
        known: Mapping[str, str],
        closed: Container[str],
    ) -> None:
        self._view, self._table, self._alike, self._known, self._closed = view, table, alike, known, closed
        self.found: dict[str, Bucketing] = {}
        #: Ids that are the same at each step, and the vocabularies that give words no id.
        self._fixed: list[int] = []
        self._without_others: list[str] = []

    def reason(self) -> str:
        """Return why the table keeps its buckets; "" if it does not."""
        if len(self._table.parts) > 1:
            return "its variable is in parts, which ids are divided into, too"
        if self._table.row_ops:
            return "its step is composed of reads and writes of rows"
        if any(lookup.product for lookup in self._table.lookups):
            return "its ids are columns of a sparse matrix"
        for lookup in self._table.lookups:
            for reason in self._origins(lookup.ids):
                return reason
        if not self.found:
            return (
                f"words that the vocabulary of `{self._without_others[0]}` does not have get no row: give it an "
                "out-of-vocabulary bucket"
                if self._without_others
                else "its ids are the same at each step"
            )
        for one in self.found.values():
            readers, reasons = self._read(one)
            if reasons:
                return reasons[0]
            one.readers.add(readers)
        return ""

    def _read(self, one: Bucketing) -> tuple[Readers, list[str]]:
        """Return what reads the buckets of an op, as of all tables with as many rows, and the first that must not."""
        are_rows = all(0 <= number < self._table.rows for number in self._fixed)
        if (one.op, are_rows) not in self._alike.readers:
            readers = Readers()
            reasons = [*itertools.islice(self._readers(one, readers, are_rows), 1)]
            self._alike.readers[one.op, are_rows] = readers, reasons
        return self._alike.readers[one.op, are_rows]

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
            if tensor.op in self._known:
                yield self._known[tensor.op]
                continue
            kind = self._view.type(tensor.op)
            buckets, first = self._buckets(tensor)
            before = self._before(tensor)
            number = None if before else number_of(self._view, tensor)
            if buckets:
                yield from self._divides(tensor, buckets, first + moved, moved)
            elif before:
                pending += [(one, moved + more) for one, more in before]
            elif number is not None:
                self._fixed.append(number + moved)
            elif kind in FINDS:
                self._fixed.append(-1)
                self._without_others.append(tensor.op)
            else:
                yield f"its ids come out of `{tensor.op}` ({kind}), which divides nothing into buckets"

    def _before(self, tensor: Tensor) -> list[tuple[Tensor, int]]:
        """Return what an op hands on, with the number that it adds; nothing if it does something else."""
        kind, inputs = self._view.type(tensor.op), self._view.inputs(tensor.op)
        if kind in _MOVES or kind in BOUNDS:
            numbers = [number_of(self._view, one) for one in inputs]
            for one, number in zip(inputs, reversed(numbers), strict=True):
                if number is not None:
                    return [(one, number if kind in _MOVES else 0)]
        carrying, output = HANDS_ON.get(kind, _NOTHING)
        return [(one, 0) for one in inputs[carrying]] if output == tensor.output else []

    def _divides(self, tensor: Tensor, buckets: int, first: int, moved: int) -> Iterator[str]:
        """Note an op that divides ids into buckets, the first of which is a row of the variable."""
        rows = self._table.rows
        if first < 0 or first + buckets > rows:
            beginning = f" from {first} on" if first else ""
            yield (f"`{tensor.op}` divides ids into {buckets} buckets{beginning}, and the variable has {rows} rows")
            return
        is_last = first + buckets == rows
        layout = Buckets(buckets, first) if is_last else Buckets(buckets, first, rows)
        for other in self.found.values():
            if other.layout != layout:
                yield (
                    f"`{tensor.op}` and `{other.op}` divide ids into buckets that are different rows: {buckets} from "
                    f"{first} on, {other.buckets} from {other.layout.first} on"
                )
        added = 0 if is_last and self._view.type(tensor.op) not in FINDS else rows - moved
        if added:
            yield from self._added(tensor.op)
        uses = tuple(self._view.uses(tensor))
        self.found[tensor.op] = Bucketing(tensor.op, tensor, buckets, uses, layout, added=added)

    def _added(self, op: str) -> Iterator[str]:
        """Yield a reason if no op can be added beside one."""
        if op in self._closed:
            yield (
                f"`{op}` is in a function of a dataset, to which an op would have to be added: divide ids outside "
                "of it, or into the last rows of the variable"
            )

    def _buckets(self, tensor: Tensor) -> tuple[int, int]:
        """Return the number of buckets that an op divides into, and the first of them; 0 if it divides nothing."""
        kind = self._view.type(tensor.op)
        if HASHES.get(kind) == tensor.output:
            return int(self._view.attribute(tensor.op, "num_buckets").i), 0
        if kind in FINDS and self._view.attribute(tensor.op, "Tout").type == _INT64:
            other = other_id(self._view, tensor.op)
            return (0, 0) if other is None or other < 0 else (1, other)
        if kind != _REMAINDER or self._view.attribute(tensor.op, "T").type != _INT64:
            return 0, 0
        divisor = self._view.number(self._view.inputs(tensor.op)[1])
        return (0 if divisor is None else int(divisor)), 0

    def _readers(self, one: Bucketing, noted: Readers, are_rows: bool) -> Iterator[str]:
        """Yield a reason for each use of the ids, or of what hands them on, that is no lookup or step of such tables.

        The others that need an edit are noted.
        """
        pending, known = list(one.uses), set()
        wide = [self._table.rows, 2**63 - 1]
        while pending:
            use = pending.pop()
            if use in known or use.op in self._alike.steps:
                continue
            known.add(use)
            kind = self._view.type(use.op)
            if use.op in self._alike.lookups or kind in _COUNTS:
                continue
            answer = common_answer(self._view, use, self._table.rows, wide)
            bound = bound_of(self._view, use, self._table.rows)
            if bound is not None and (kind == "Maximum" or are_rows):
                if kind == "Minimum":
                    noted.bounds[bound] = None
                    yield from self._added(use.op)
                pending += self._view.uses(Tensor(use.op, 0))
                continue
            if answer or (answer is False and are_rows):
                if not answer:
                    noted.compared[use] = None
                    yield from self._added(use.op)
                continue
            if use.input == 1 and _GRADIENTS.fullmatch(kind):
                noted.gradients[use.op] = None
                pending += self._view.uses(Tensor(use.op, 1))
                continue
            inputs = self._view.inputs(use.op)
            carrying, output = HANDS_ON.get(kind, _NOTHING)
            if kind in _MOVES and number_of(self._view, inputs[1 - use.input]) is not None:
                carrying = slice(None)
            if kind == "Cast" and self._view.attribute(use.op, "DstT").type != _INT64:
                yield f"`{use.op}` narrows the ids of `{one.op}` to 32 bits: look them up as tf.int64"
            elif use.input in range(len(inputs))[carrying]:
                pending += self._view.uses(Tensor(use.op, output))
            elif use.op in self._known:
                yield self._known[use.op]
            elif kind not in ("Gather", "GatherV2") or use.input != 1:
                yield f"the buckets of `{one.op}` are also read by `{use.op}` ({kind})"
            else:
                yield f"the buckets of `{one.op}` also pick rows in `{use.op}`, which stays or has other buckets"
