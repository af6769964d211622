"""Order within one `session.run`: an update of a table runs after the lookups of the same step.

A v1 graph has no automatic order, so the update gets control edges. A control edge also *forces* the lookup to run,
therefore a lookup counts as part of the step only when it reads a placeholder, an iterator or another source, and none
that the update does not read itself: training must not demand the feed, eat the data or insert the ids of another
branch of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import tensorflow as tf

from runtime import _tensorflow

_PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2", "PlaceholderWithDefault"})
# Stateful, but without data of their own: what they are given decides all that they do.
_INERT = frozenset(
    {
        *("VarHandleOp", "ReadVariableOp", "VariableV2", "Variable", "RecTableHandle"),
        *("Assert", "Print", "PrintV2"),  # checks and messages about the ids of one branch
        *("HashTable", "HashTableV2", "LookupTableFind", "LookupTableFindV2"),
    }
)


@dataclass(frozen=True)
class _Reads:
    """What an op depends on, by name: sources of data, and updates of tables."""

    sources: frozenset[str]
    updates: frozenset[str]

    def is_step_of(self, update: _Reads) -> bool:
        return bool(self.sources) and self.sources <= update.sources


# Of lookups and updates: a walk of the graph for each pair of them would be quadratic. Names keep no graph alive.
_reads: WeakKeyDictionary[tf.Graph, dict[str, _Reads]] = WeakKeyDictionary()


def lookup_added(lookup: tf.Operation, updates: list[tf.Operation]) -> None:
    """Let the updates that exist already wait for a new lookup of their table."""
    if not updates or _tensorflow.in_control_flow(lookup):
        return
    reads = _reads_of(lookup)
    for update in updates:
        if update.name not in reads.updates and reads.is_step_of(_reads_of(update)):
            _tensorflow.add_control_inputs(update, [lookup])


def update_added(update: tf.Operation, lookups: list[tf.Operation]) -> None:
    """Let a new update wait for the lookups of its table that exist already."""
    if not _tensorflow.in_control_flow(update):
        _wait(update, lookups)


def admission_added(lookup: tf.Operation, earlier: list[tf.Operation]) -> None:
    """Let a new lookup that counts its keys wait for those of its table that exist, so that runs are alike."""
    if not _tensorflow.in_control_flow(lookup):
        _wait(lookup, earlier)


def _wait(op: tf.Operation, earlier: list[tf.Operation]) -> None:
    reads = _reads_of(op)
    waits = [one for one in earlier if not _tensorflow.in_control_flow(one) and _reads_of(one).is_step_of(reads)]
    _tensorflow.add_control_inputs(op, waits)


def _reads_of(op: tf.Operation) -> _Reads:
    """Walk the graph from `op` once: the control edges that are added here later bring it no further source."""
    known = _reads.setdefault(op.graph, {})
    if op.name not in known:
        before = _ancestors(op)
        known[op.name] = _Reads(
            sources=frozenset(one.name for one in before if _is_source(one)),
            updates=frozenset(one.name for one in before if one.type.startswith("RecApply")),
        )
    return known[op.name]


def _ancestors(op: tf.Operation) -> set[tf.Operation]:
    found: set[tf.Operation] = set()
    pending = [op]
    while pending:
        current = pending.pop()
        for before in [tensor.op for tensor in current.inputs] + list(current.control_inputs):
            if before not in found:
                found.add(before)
                pending.append(before)
    return found


def _is_source(op: tf.Operation) -> bool:
    return op.type in _PLACEHOLDERS or not _tensorflow.stateful_types(op) <= _INERT
