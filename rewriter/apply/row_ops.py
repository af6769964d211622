"""Reads and writes of rows by steps that a live graph composes: on the rows of a table, and on their slots."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from rewriter.apply.looked_up import number_before
from rewriter.facts import Optimizer, RowOp, Table
from rewriter.graph.view import Tensor
from rewriter.patterns.branches import READS
from runtime.optimizers.composed import Column, read_slot, write_rows
from runtime.table.table import Table as RuntimeTable

Take = Callable[[Tensor], tf.Tensor]


def ops_before_row_op(graph: tf.Graph, row_op: RowOp) -> list[tf.Operation]:
    """Return the old op and what no longer runs with it, whose waits the new one takes over: reads, and the axis."""
    op = graph.get_operation_by_name(row_op.op)
    before = [op]
    while op.inputs and op.inputs[0].op.type in READS:
        op = op.inputs[0].op
        before.append(op)
    axis = before[0].inputs[2:] if row_op.how == "read" else ()
    return [*before, *(one for number in axis for one in number_before(number))]


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
        rows = tf.reshape(
            read_slot(runtime_table, column, keys), tf.concat([tf.shape(ids), tf.constant(table.row, tf.int32)], 0)
        )
        return tf.ensure_shape(rows, ids.shape.concatenate(table.row))
    value = take(operation.value)
    if value.shape.rank in (0, None):  # one number for all elements
        value = tf.broadcast_to(value, tf.concat([tf.shape(keys), tf.constant(table.row, tf.int32)], 0))
    return write_rows(runtime_table, column, keys, tf.reshape(value, [-1, table.dim]), operation.how)
