"""What a lookup of a table is given and gives in a live graph, where the old one had other ids or other rows.

Steps that are composed read and write rows, too: those of a table, and of its slots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import tensorflow as tf

from rewriter import _tf_private
from rewriter.facts import Lookup, Optimizer, RowOp, Table, Update
from rewriter.graph.view import Tensor
from rewriter.patterns.branches import READS
from runtime.optimizers.composed import Column, read_slot, write_rows
from runtime.table.table import Table as RuntimeTable

#: Where the numbers of a gradient end: sizes of tensors, which may be of any part of the graph, and variables.
_NO_NUMBERS = ("Shape", "ShapeN", "Size", "VarHandleOp", "VariableV2", "Placeholder")


def ops_before(graph: tf.Graph, lookup: Lookup) -> list[tf.Operation]:
    """Return the ops of an old lookup that may wait for others: what looks up, and the reads before it.

    Where an op is built under control dependencies with constants of its own, these wait in its place: the axis of a
    gather from a ref variable.
    """
    before = list[tf.Operation]()
    for name in (lookup.op, *lookup.gathers):
        op = graph.get_operation_by_name(name)
        operands = [one.op for one in op.inputs[2:] if op.type == "GatherV2"]
        for source in (op, *operands):
            before += [source, *_reads(source)]
    return list(dict.fromkeys(before))


def _reads(op: tf.Operation) -> Iterator[tf.Operation]:
    """Yield the reads of a variable that an op takes as its first input."""
    while op.inputs and op.inputs[0].op.type in READS:
        op = op.inputs[0].op
        yield op


def arithmetic_before(graph: tf.Graph, update: Update) -> list[tf.Operation]:
    """Return the ops before an old update that a new one has no use for, and whose waits it takes over.

    These are the arithmetic of a dense gradient and the numbers in it, or what sums the gradients of equal ids, down to
    the tensors that the new update reads, too. What is built under control dependencies waits by the first of its ops
    alone, often a constant.
    """
    whole = () if update.whole is None else (*update.whole.l2, *update.whole.l1)
    numbers = [one for scale in whole for one in (*scale.factors, *scale.divisors)]
    read = (*(one for pair in update.gradients for one in pair), *update.weights, *numbers, *update.hyper)
    kept = {str(one) for one in read}
    before = dict[tf.Operation, None]()
    pending = [graph.get_operation_by_name(name) for name in update.arithmetic]
    if not pending:
        writing = [graph.get_operation_by_name(name) for name in update.ops]
        pending = [one.op for op in writing for one in op.inputs[1:] if one.name not in kept]
    while pending:
        op = pending.pop()
        if op in before or op.type in _NO_NUMBERS or _tf_private.in_control_flow(op):
            continue
        before[op] = None
        # A group of gradients waits for each of them, and some are arithmetic that no longer runs.
        pending += [one for one in op.control_inputs if one.type == "NoOp"]
        if op.type != "ReadVariableOp":
            pending += [one.op for one in op.inputs if one.name not in kept]
    return list(before)


def number_before(value: tf.Tensor) -> list[tf.Operation]:
    """Return the ops that compute a constant, one of which may wait in the place of the op that reads it."""
    return [value.op, *(op for given in value.op.inputs for op in number_before(given))]


def keys_of(lookup: Lookup, ids: tf.Tensor) -> tf.Tensor:
    """Return the ids of rows that a lookup reads, by the ids that the old one is given."""
    if lookup.product:
        return ids[:, 1]
    return tf.squeeze(ids, -1) if lookup.nested else ids


def rows_of_variable(table: Table, lookup: Lookup, rows: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    """Return looked-up rows of the table, [*keys, dim], as the variable's lookup gives them, [*keys, *row]."""
    return rows if table.is_matrix else _shaped(rows, keys_of(lookup, ids), table.row)


def _shaped(rows: tf.Tensor, keys: tf.Tensor, row: tuple[int, ...]) -> tf.Tensor:
    """Return rows as [*keys, *row]."""
    shaped = tf.reshape(rows, tf.concat([tf.shape(keys), tf.constant(row, tf.int32)], 0))
    return tf.ensure_shape(shaped, keys.shape.concatenate(row))


Take = Callable[[Tensor], tf.Tensor]


def ops_before_row_op(graph: tf.Graph, row_op: RowOp) -> list[tf.Operation]:
    """Return the old op and what no longer runs with it, whose waits the new one takes over: reads, and the axis."""
    op = graph.get_operation_by_name(row_op.op)
    axis = op.inputs[2:] if row_op.how == "read" else ()
    return [op, *_reads(op), *(one for number in axis for one in number_before(number))]


def column_of(runtime_table: RuntimeTable, table: Table, slot: str) -> Column:
    """Return where a table holds a slot, or the value of its rows for an empty name."""
    if not slot:
        return Column()
    owner = next(one for one in table.composed if slot in one.slots)
    return Column(owner.slots.index(slot) + 1, owner.rule, owner.starts, _set_of(runtime_table, table, owner))


def _set_of(runtime_table: RuntimeTable, table: Table, owner: Optimizer) -> int:
    return runtime_table.slot_sets.number_of(owner) if len(table.optimizers) > 1 else 0


def row_op(runtime_table: RuntimeTable, table: Table, operation: RowOp, take: Take) -> tf.Tensor | tf.Operation:
    """Return the rows that a step reads, [*ids, *row], or the op that writes them."""
    ids = take(operation.ids)
    keys = tf.cast(tf.reshape(ids, [-1]), tf.int64)
    column = column_of(runtime_table, table, operation.slot)
    if operation.value is None:
        return _shaped(read_slot(runtime_table, column, keys), ids, table.row)
    value = take(operation.value)
    if value.shape.rank in (0, None):  # one number for all elements
        value = tf.broadcast_to(value, tf.concat([tf.shape(keys), tf.constant(table.row, tf.int32)], 0))
    return write_rows(runtime_table, column, keys, tf.reshape(value, [-1, table.dim]), operation.how)
