"""What lies between the ops that divide ids into buckets and what looks rows up by them: it is built again.

Everybody else goes on reading the buckets. Only how many different ids a batch has, and which of them an id is, counts
for what reads rows of these, too: `tf.unique` finds more wide ids than buckets.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import tensorflow as tf

from rewriter import _tf_private
from rewriter.graph.view import GraphView, Tensor, Use
from rewriter.plan.buckets import POOLED_GRADIENTS, Bucketing, Group, Shown, handed_on, tells_none_apart
from runtime.storage.buckets import Buckets

#: Ops that read how many ids there are.
_COUNTS = ("Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike")
_UNIQUE = ("Unique", "UniqueV2")
_CONTROL_FLOW = ("Switch", "Merge", "Enter", "Exit", "NextIteration")
_WIDEST = 2**63 - 1


@dataclass
class Chain:
    """How lookups and steps get wide ids."""

    #: Ops that are built again where an op that is edited reads them.
    copied: set[str] = field(default_factory=set)
    #: Inputs that read what is built again.
    edits: dict[Use, None] = field(default_factory=dict)
    #: Gradients of pooled lookups, which number the ids of a batch.
    gradients: dict[str, None] = field(default_factory=dict)
    #: Ids of datasets, which are wide for all: how they divide, and the number that is added to them before a lookup.
    elements: dict[Tensor, tuple[Buckets, int]] = field(default_factory=dict)


def chain_of(view: GraphView, group: Group, shown: Shown) -> tuple[Chain, dict[str, str]]:
    """Return how the tables of a group get wide ids; and why some must keep their buckets, by their names."""
    walk, reasons = _Walk(view, group, shown), dict[str, str]()
    for bucketing in group.bucketings.values():
        for reason in walk.follow(bucketing):
            reasons |= dict.fromkeys(group.by[bucketing.op], reason)
            break
    for bucketing, reason in walk.counts():
        for name in group.by[bucketing.op]:
            reasons.setdefault(name, reason)
    return walk.chain, reasons


class _Walk:
    """Walks from ops that divide ids to all that reads these."""

    def __init__(self, view: GraphView, group: Group, shown: Shown) -> None:
        self._view, self._shown, self.chain = view, shown, Chain()
        tables = group.tables.values()
        self._lookups = {op for table in tables for one in table.lookups for op in (one.op, *one.gathers)}
        self._steps = {op for table in tables for one in table.updates for op in (*one.ops, *one.arithmetic)}
        #: The ops that find different ids, as bits, and by lookups and steps those of whose results these read.
        self._unique: dict[str, int] = {}
        self._ends: dict[str, int] = {}
        #: What tells how many different ids there are, and which: tensors, and an op that makes of ids what it likes.
        self._counts: list[tuple[Tensor, int, str, Bucketing]] = []
        #: Ops that read different ids.
        self._others: list[tuple[str, int, Bucketing]] = []

    def follow(self, bucketing: Bucketing) -> Iterator[str]:
        """Follow the ids of an op as long as they are handed on; yield reasons why they cannot be wide.

        With a tensor goes by which ops its ids are different ones, and the number that was added; None for several.
        """
        pending: list[tuple[Tensor, int, int | None]] = [(bucketing.output, 0, 0)]
        known: dict[tuple[Tensor, int], int | None] = {}
        while pending:
            tensor, unique, moved = pending.pop()
            if (tensor, unique) in known:
                moved = moved if known[tensor, unique] == moved else None
                if known[tensor, unique] == moved:
                    continue
            known[tensor, unique] = moved
            for use in self._view.uses(tensor):
                if self._is_inside(tensor.op) and not self._is_inside(use.op):
                    yield from self._leaves(tensor, use, bucketing, moved)
                if self._is_inside(use.op):
                    yield from self._read_inside(tensor, use, bucketing)
                elif self._is_end(use, unique):
                    continue
                carrying, outputs = handed_on(self._view, use.op, bucketing.layout.rows)
                more = next((more for place, more in carrying if place == use.input), None)
                if more is None:
                    self._others += [(use.op, unique, bucketing)] if unique else []
                    continue
                further = unique
                if not self._is_inside(use.op):
                    self.chain.copied.add(use.op)
                    further |= self._finds(use.op, unique, bucketing)
                added = None if moved is None else moved + more
                pending += ((one, further, added) for one in self._outputs(use.op) if one.output in outputs)

    def _is_end(self, use: Use, unique: int) -> bool:
        """Whether an op is a lookup or a part of a step, which is noted."""
        pools = use.input == 1 and bool(POOLED_GRADIENTS.fullmatch(self._view.type(use.op)))
        if not pools and use.op not in self._lookups and use.op not in self._steps:
            return False
        if pools:
            self.chain.gradients[use.op] = None
        self.chain.edits[use] = None
        self._ends[use.op] = self._ends.get(use.op, 0) | unique
        return True

    def _finds(self, op: str, unique: int, bucketing: Bucketing) -> int:
        """Return the bit of an op that finds different ids; 0 for another."""
        if self._view.type(op) not in _UNIQUE:
            return 0
        bit = self._unique.setdefault(op, 1 << len(self._unique))
        self._counts += ((Tensor(op, number), unique | bit, "", bucketing) for number in (1, 2))
        return bit

    def _read_inside(self, tensor: Tensor, use: Use, bucketing: Bucketing) -> Iterator[str]:
        """Yield a reason if an op of a dataset reads ids and does not just hand them on: there is no op beside it."""
        if not self._is_inside(tensor.op):
            self.chain.edits[use] = None
        kind, rows = self._view.type(use.op), bucketing.layout.rows
        handed = kind in _COUNTS or (kind != "Minimum" and self._hands_on(use, bucketing))
        if not handed and not tells_none_apart(self._view, use, rows, [rows, _WIDEST]):
            yield self._shown.known.get(use.op) or self._also_reads(use, bucketing)

    def _leaves(self, tensor: Tensor, use: Use, bucketing: Bucketing, moved: int | None) -> Iterator[str]:
        """Note ids of an element that ops of the graph read, which get the buckets."""
        element = self._shown.elements.get(tensor.op)
        real = element or tensor
        if real.op in self._shown.closed or (element and not self._is_number(element)):
            yield self._also_reads(use, bucketing)
            return
        ways = None if moved is None else (bucketing.layout, bucketing.moved - moved)
        if ways is None or self.chain.elements.setdefault(real, ways) != ways:
            yield f"`{real.op}` gets ids that are divided in several ways"

    def _is_number(self, tensor: Tensor) -> bool:
        types = self._view.attribute(tensor.op, "output_types").list.type
        return tensor.output < len(types) and bool(types[tensor.output] == tf.int64.as_datatype_enum)

    def _is_inside(self, op: str) -> bool:
        """Whether an op is one of a dataset, or reads sparse ids that a dataset has packed."""
        if self._view.type(op) == "DeserializeSparse":
            return self._is_inside(self._view.inputs(op)[0].op)
        return op in self._shown.closed

    def _hands_on(self, use: Use, bucketing: Bucketing) -> bool:
        return any(place == use.input for place, _ in handed_on(self._view, use.op, bucketing.layout.rows)[0])

    def _also_reads(self, use: Use, bucketing: Bucketing) -> str:
        kind = self._view.type(use.op)
        return f"the buckets of `{bucketing.op}` are also read by `{use.op}` ({kind})"

    def counts(self) -> Iterator[tuple[Bucketing, str]]:
        """Note who reads how many different ids there are beside rows; yield reasons why that cannot be of wide ids."""
        pending, known, handing = self._counts, set[tuple[Tensor, int, bool]](), self.chain.copied.copy()
        for op, unique, bucketing in self._others:
            by = "" if self._view.type(op) in _COUNTS else op
            if by and self._reached.get(op, 0) & unique:
                yield bucketing, self._also_reads(Use(by, 0), bucketing)
            pending += ((read, unique, by, bucketing) for read in self._outputs(op))
        while pending:
            tensor, unique, by, bucketing = pending.pop()
            if (tensor, unique, bool(by)) in known:
                continue
            known.add((tensor, unique, bool(by)))
            for use in self._view.uses(tensor):
                handed = use.op in handing
                if handed or self._reached.get(use.op, 0) & unique:
                    if by:
                        yield bucketing, self._also_reads(Use(by, 0), bucketing)
                    elif not handed and not self._is_fraction(tensor):
                        self.chain.edits[use] = None
                    continue
                kind = self._view.type(use.op)
                keeps = use.op if kind in _CONTROL_FLOW or _tf_private.keeps_state(kind) else ""
                pending += ((read, unique, by or keeps, bucketing) for read in self._outputs(use.op))
        self.chain.copied |= {tensor.op for tensor, _, by in known if not by}

    def _is_fraction(self, tensor: Tensor) -> bool:
        """Whether a tensor is a single number with a fraction, such as a weight: no op needs it to read rows."""
        kinds = (self._view.attribute(tensor.op, name).type for name in ("DstT", "T", "dtype"))
        kind: tf.DType = tf.as_dtype(next(filter(None, kinds), tf.int64.as_datatype_enum))
        return bool(kind.is_floating) and self._view.shape(tensor).rank == 0

    def _outputs(self, op: str) -> Iterable[Tensor]:
        """Return the outputs of an op that are read."""
        return dict.fromkeys(self._view.inputs(use.op)[use.input] for use in self._view.users(op))

    @functools.cached_property
    def _reached(self) -> dict[str, int]:
        """By ops the bits of those that find different ids by which these read rows, or what is computed of such rows.

        Ops of a graph follow those that they read, but for those of loops.
        """
        bits, changed = dict(self._ends), True
        while changed:
            changed = False
            for op in self._view.nodes if any(bits.values()) else ():
                before = bits.get(op, 0)
                after = functools.reduce(operator.or_, (bits.get(one.op, 0) for one in self._view.inputs(op)), before)
                if after != before:
                    bits[op], changed = after, True
        return bits
