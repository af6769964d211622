"""Order within one `session.run`: an update of a table runs after the lookups of the same step.

A v1 graph has no automatic order, so the update gets control edges. A control edge also *forces* the lookup to run,
therefore a lookup counts as part of the step only when it reads a placeholder, an iterator or another source, and none
that the update does not read itself: training must not demand the feed, eat the data or insert the ids of another
branch of the graph.
"""

from __future__ import annotations

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


def lookup_added(lookup: tf.Operation, updates: list[tf.Operation]) -> None:
    """Let the updates that exist already wait for a new lookup of their table."""
    if not updates or _tensorflow.in_control_flow(lookup):
        return
    before = _ancestors(lookup)
    for update in updates:
        if update not in before and _same_step(before, _ancestors(update)):
            _tensorflow.add_control_inputs(update, [lookup])


def update_added(update: tf.Operation, lookups: list[tf.Operation]) -> None:
    """Let a new update wait for the lookups of its table that exist already."""
    if _tensorflow.in_control_flow(update):
        return
    reached = _ancestors(update)
    waits = [op for op in lookups if not _tensorflow.in_control_flow(op) and _same_step(_ancestors(op), reached)]
    _tensorflow.add_control_inputs(update, waits)


def admission_added(lookup: tf.Operation, earlier: list[tf.Operation]) -> None:
    """Let a new lookup that counts its keys wait for those of its table that exist, so that runs are alike."""
    if _tensorflow.in_control_flow(lookup):
        return
    reached = _ancestors(lookup)
    waits = [op for op in earlier if not _tensorflow.in_control_flow(op) and _same_step(_ancestors(op), reached)]
    _tensorflow.add_control_inputs(lookup, waits)


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


def _same_step(lookup_reads: set[tf.Operation], update_reads: set[tf.Operation]) -> bool:
    sources = {op for op in lookup_reads if _is_source(op)}
    return bool(sources) and sources <= update_reads


def _is_source(op: tf.Operation) -> bool:
    return op.type in _PLACEHOLDERS or not _tensorflow.stateful_types(op) <= _INERT
