"""Order within one `session.run`: an update of a table runs after the lookups of the same step.

A v1 graph has no automatic order, so the update gets control edges. A control edge also *forces* the lookup to run,
therefore none is added from a lookup that reads a placeholder, an iterator or another source that the update does not
read itself: training must not demand the feed, or eat the data, of an evaluation branch in the same graph.
"""

from __future__ import annotations

import tensorflow as tf

from runtime import _tensorflow

_PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2", "PlaceholderWithDefault"})
# Stateful, but running one has no effect and needs nothing.
_INERT = frozenset({"VarHandleOp", "ReadVariableOp", "VariableV2", "Variable", "RecTableHandle"})


def lookup_added(lookup: tf.Operation, updates: list[tf.Operation]) -> None:
    """Let the updates that exist already wait for a new lookup of their table."""
    if not updates or _tensorflow.in_control_flow(lookup):
        return
    before = _ancestors(lookup)
    for update in updates:
        if update not in before and _sources(before) <= _ancestors(update):
            _tensorflow.add_control_inputs(update, [lookup])


def update_added(update: tf.Operation, lookups: list[tf.Operation]) -> None:
    """Let a new update wait for the lookups of its table that exist already."""
    if _tensorflow.in_control_flow(update):
        return
    reached = _ancestors(update)
    waits = [op for op in lookups if not _tensorflow.in_control_flow(op) and _sources(_ancestors(op)) <= reached]
    _tensorflow.add_control_inputs(update, waits)


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


def _sources(ops: set[tf.Operation]) -> set[tf.Operation]:
    return {op for op in ops if op.type in _PLACEHOLDERS or (_tensorflow.is_stateful(op) and op.type not in _INERT)}
