"""Order within one `session.run`: an update of a table runs after the lookups of the same step.

A v1 graph has no automatic order, so an update gets control edges. A control edge also *forces* the lookup to run.
Therefore a lookup counts as part of the step only if it reads a source of data (a placeholder, an iterator, …), and
only sources that the update reads itself: training must not require a feed, consume data or insert ids of another
branch of the graph. A read-only lookup of a table with frequent reads may also have constant ids.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple
from weakref import WeakKeyDictionary

import tensorflow as tf

from runtime import _tf_private

_PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2", "PlaceholderWithDefault"})
# Stateful ops without data of their own: their inputs determine everything they do.
_INERT = frozenset(
    {
        *("VarHandleOp", "ReadVariableOp", "VariableV2", "Variable", "RecTableHandle"),
        *("Assert", "Print", "PrintV2"),  # checks and messages about the ids of one branch
        *("HashTable", "HashTableV2", "LookupTableFind", "LookupTableFindV2"),
        *("RecLookup", "RecLookupPermitted", "RecTierOf", "RecFindPlaces", "RecLookupPlaces"),
    }
)


# Ops that write a ref variable, which TensorFlow does not declare stateful; those on resources are stateful.
_REF_WRITES = ("Apply", "SparseApply", "Assign", "ScatterAdd", "ScatterSub", "ScatterUpdate")


# Ops that increment a variable. Assignments belong to an init op or a Saver, which must not depend on anything.
_COUNTS = frozenset({"AssignAdd", "AssignAddVariableOp"})
_VARIABLES = frozenset({"VarHandleOp", "VariableV2", "Variable"})


class _Reads(NamedTuple):
    """What an op depends on: data sources and table updates, as bit sets in the graph's numbering."""

    sources: int
    updates: int

    def is_step_of(self, update: _Reads, reads_only: bool) -> bool:
        """Whether a lookup belongs to the step of an update; a `reads_only` lookup may run in additional steps."""
        return (reads_only or bool(self.sources)) and not self.sources & ~update.sources


@dataclass
class _Known:
    """What is known about a graph, by op names, which do not keep the graph alive."""

    bits: dict[str, int] = field(default_factory=dict)  # bit of each source and update
    reads: dict[str, _Reads] = field(default_factory=dict)  # dependencies of lookups and updates
    steady: set[str] = field(default_factory=set)  # lookups that belong to every step

    def bit(self, op: tf.Operation) -> int:
        return self.bits.setdefault(op.name, 1 << len(self.bits))


_known: WeakKeyDictionary[tf.Graph, _Known] = WeakKeyDictionary()


def lookup_added(lookup: tf.Operation, updates: list[tf.Operation], steady: bool = False) -> None:
    """Make existing updates wait for a new lookup of their table.

    A `steady` lookup is read-only and may run in every step: it belongs to a step without reading its data.
    """
    if steady:
        _known.setdefault(lookup.graph, _Known()).steady.add(lookup.name)
    if not updates or _tf_private.in_control_flow(lookup):
        return
    own, *others = _reads_of([lookup, *updates])
    for update, reads in zip(updates, others, strict=True):
        if not own.updates & _known[lookup.graph].bit(update) and own.is_step_of(reads, steady):
            _tf_private.add_control_inputs(update, [lookup])


def updates_added(waits: Iterable[tuple[tf.Operation, list[tf.Operation]]]) -> None:
    """Make each new update wait for the existing lookups of its table."""
    _wait(waits)


def admission_added(lookup: tf.Operation, earlier: list[tf.Operation]) -> None:
    """Make a new lookup that counts keys wait for existing ones of its table, so that runs are deterministic."""
    _wait([(lookup, earlier)])


def rate_computed(rate: tf.Tensor) -> None:
    """Make increments of the step counter wait for a learning rate that is computed from it.

    The optimizer of the other variables increments the global step after their update; a learning rate that only tables
    use could otherwise belong to the next step. If a rate needs a feed or data, nothing waits for it: an increment
    alone must not require them.
    """
    if _tf_private.in_control_flow(rate.op):
        return
    _, ordered, _ = _inputs_first([rate.op])
    if any(op.type in _PLACEHOLDERS or "Iterator" in op.type for op in ordered):
        return
    needed = set(ordered)
    for variable in (op for op in ordered if op.type in _VARIABLES):
        for op in variable.outputs[0].consumers():
            if op.type in _COUNTS and op not in needed and not _tf_private.in_control_flow(op):
                _tf_private.add_control_inputs(op, [rate.op])


def _wait(waits: Iterable[tuple[tf.Operation, list[tf.Operation]]]) -> None:
    """Make each op wait for the earlier ops that belong to its step; the ops may not have consumers yet."""
    free = [
        (op, [one for one in earlier if not _tf_private.in_control_flow(one)])
        for op, earlier in waits
        if not _tf_private.in_control_flow(op)
    ]
    ops = list(dict.fromkeys(one for op, earlier in free for one in (op, *earlier)))
    reads = dict(zip(ops, _reads_of(ops), strict=True))
    for op, earlier in free:
        steady = _known[op.graph].steady
        own = [one for one in earlier if reads[one].is_step_of(reads[op], one.name in steady)]
        _tf_private.add_control_inputs(op, own)


def _reads_of(ops: list[tf.Operation]) -> list[_Reads]:
    """Compute the dependencies of the ops in one pass, except known ones: edges added here bring no new source."""
    if not ops:
        return []
    known = _known.setdefault(ops[0].graph, _Known())
    new = [op for op in ops if op.name not in known.reads]
    if new:
        before = _before(new, known)
        known.reads.update((op.name, before[op]) for op in new)
    return [known.reads[op.name] for op in ops]


def _before(ops: list[tf.Operation], known: _Known) -> dict[tf.Operation, _Reads]:
    """Return the dependencies of each of `ops`, and of the ops that they depend on.

    The graph may have gained edges since the last pass, so only the results for `ops` are cached.
    """
    inputs, ordered, cyclic = _inputs_first(ops)
    own = {op: _own(op, known) for op in ordered}
    before = dict.fromkeys(ordered, _Reads(0, 0))
    changed = True
    while changed:
        changed = False
        for op in ordered:
            sources = updates = 0
            for source in inputs[op]:
                sources |= before[source].sources | own[source].sources
                updates |= before[source].updates | own[source].updates
            if (sources, updates) != before[op]:
                before[op] = _Reads(sources, updates)
                changed = cyclic  # in a v1 loop, the end is visited before the start
    return before


def _inputs_first(
    ops: list[tf.Operation],
) -> tuple[dict[tf.Operation, list[tf.Operation]], list[tf.Operation], bool]:
    """Return inputs of all ops that `ops` depend on, these ops in topological order, and whether there is a cycle."""
    inputs: dict[tf.Operation, list[tf.Operation]] = {}
    ordered: dict[tf.Operation, None] = {}
    cyclic = False
    pending = [(op, False) for op in ops]
    while pending:
        op, done = pending.pop()
        if done:
            ordered[op] = None
        elif op not in inputs:
            inputs[op] = list(dict.fromkeys([*(tensor.op for tensor in op.inputs), *op.control_inputs]))
            pending.append((op, True))
            pending += [(one, False) for one in inputs[op]]
        else:
            cyclic = cyclic or op not in ordered
    return inputs, list(ordered), cyclic


def _own(op: tf.Operation, known: _Known) -> _Reads:
    source = op.type in _PLACEHOLDERS or op.type.startswith(_REF_WRITES)
    source = source or not _tf_private.stateful_types(op) <= _INERT
    return _Reads(known.bit(op) if source else 0, known.bit(op) if op.type.startswith("RecApply") else 0)
