"""Order within one `session.run`: an update of a table runs after the lookups of the same step.

A v1 graph has no automatic order, so the update gets control edges. A control edge also *forces* the lookup to run,
therefore a lookup counts as part of the step only when it reads a placeholder, an iterator or another source, and none
that the update does not read itself: training must not demand the feed, eat the data or insert the ids of another
branch of the graph. One of a table whose lookups change nothing, and are read often, may also have constant ids.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple
from weakref import WeakKeyDictionary

import tensorflow as tf

from runtime import _tf_private

_PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2", "PlaceholderWithDefault"})
# Stateful, but without data of their own: what they are given decides all that they do.
_INERT = frozenset(
    {
        *("VarHandleOp", "ReadVariableOp", "VariableV2", "Variable", "RecTableHandle"),
        *("Assert", "Print", "PrintV2"),  # checks and messages about the ids of one branch
        *("HashTable", "HashTableV2", "LookupTableFind", "LookupTableFindV2"),
    }
)


# Ops that write a ref variable, which TensorFlow does not declare stateful; those on resources are.
_REF_WRITES = ("Apply", "SparseApply", "Assign", "ScatterAdd", "ScatterSub", "ScatterUpdate")


# Ops that count a variable up. Those that set one are of an init op or a Saver, which must not depend on anything.
_COUNTS = frozenset({"AssignAdd", "AssignAddVariableOp"})
_VARIABLES = frozenset({"VarHandleOp", "VariableV2", "Variable"})


class _Reads(NamedTuple):
    """What an op depends on: sources of data and updates of tables, each a bit of the graph's numbering."""

    sources: int
    updates: int

    def is_step_of(self, update: _Reads, reads_only: bool) -> bool:
        """Whether a lookup belongs to the step of an update; what `reads_only` may run where nobody asked for it."""
        return (reads_only or bool(self.sources)) and not self.sources & ~update.sources


@dataclass
class _Known:
    """What is known of a graph, by the names of ops, which keep no graph alive."""

    bits: dict[str, int] = field(default_factory=dict)  # of sources and updates
    reads: dict[str, _Reads] = field(default_factory=dict)  # of lookups and updates
    steady: set[str] = field(default_factory=set)  # lookups that belong to every step

    def bit(self, op: tf.Operation) -> int:
        return self.bits.setdefault(op.name, 1 << len(self.bits))


_known: WeakKeyDictionary[tf.Graph, _Known] = WeakKeyDictionary()


def lookup_added(lookup: tf.Operation, updates: list[tf.Operation], steady: bool = False) -> None:
    """Let the updates that exist already wait for a new lookup of their table.

    A `steady` one changes nothing and may run in every step: it needs no data of the step to belong to it.
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
    """Let each new update wait for the lookups of its table that exist already."""
    _wait(waits)


def admission_added(lookup: tf.Operation, earlier: list[tf.Operation]) -> None:
    """Let a new lookup that counts its keys wait for those of its table that exist, so that runs are alike."""
    _wait([(lookup, earlier)])


def rate_computed(rate: tf.Tensor) -> None:
    """Let what counts the steps up wait for a learning rate that is computed from their number.

    The optimizer of the other variables adds 1 to the global step once these are updated. A rate that the tables have
    for themselves could otherwise be that of the next step. Where a rate needs a feed or data, nothing waits for it:
    counting alone must not ask for them.
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
    """Let each op wait for those of the earlier ones that belong to its step; no op may have consumers yet."""
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
    """Walk once what the ops depend on, but for those known: edges that are added here bring them no further source."""
    if not ops:
        return []
    known = _known.setdefault(ops[0].graph, _Known())
    new = [op for op in ops if op.name not in known.reads]
    if new:
        before = _before(new, known)
        known.reads.update((op.name, before[op]) for op in new)
    return [known.reads[op.name] for op in ops]


def _before(ops: list[tf.Operation], known: _Known) -> dict[tf.Operation, _Reads]:
    """Return what each of `ops`, and of the ops they depend on, has before it.

    The graph may have grown edges since the last walk, so nothing but the ops asked for outlasts this one.
    """
    inputs, ordered, cyclic = _inputs_first(ops)
    own = {op: _own(op, known) for op in ordered}
    before = dict.fromkeys(ordered, _Reads(0, 0))
    changed = True
    while changed:
        changed = False
        for op in ordered:
            sources = updates = 0
            for one in inputs[op]:
                sources |= before[one].sources | own[one].sources
                updates |= before[one].updates | own[one].updates
            if (sources, updates) != before[op]:
                before[op] = _Reads(sources, updates)
                changed = cyclic  # a loop of v1 control flow brings its end before its start
    return before


def _inputs_first(
    ops: list[tf.Operation],
) -> tuple[dict[tf.Operation, list[tf.Operation]], list[tf.Operation], bool]:
    """Return the inputs of all that `ops` depend on, these ops, each after its inputs, and whether there is a cycle."""
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
