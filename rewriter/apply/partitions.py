"""Partitioned variables in a live graph: rows, gradients and assignments of their parts in terms of common ids.

Checkpoints call a variable that became a table, its parts and its slots as before.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from itertools import accumulate

import tensorflow as tf

from rewriter import _tf_private
from rewriter.facts import Assignment, SlotStart, Table, Update
from rewriter.graph.view import Tensor
from runtime import native
from runtime.lookup.all_rows import rows_in_place
from runtime.table.replaced_variable import ReplacedVariable
from runtime.table.table import Table as RuntimeTable

Take = Callable[[Tensor], tf.Tensor]


def first_rows(table: Table, take: Take) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the keys [rows] and values [rows, dim] that the variable is initialized with."""
    values = [take(part.initial) for part in table.pieces]
    return row_keys(table), _matrix(table, values[0] if len(values) == 1 else tf.concat(values, 0))


def row_keys(table: Table, part: int | None = None) -> tf.Tensor:
    """Return the id of each row of the whole variable, whose parts are concatenated, or of one of its parts.

    A table in several parts keeps the buckets of its ids.
    """
    if part is not None and len(table.parts) > 1:
        return _keys(table, part, tf.range(table.pieces[part].rows, dtype=tf.int64))
    if len(table.parts) < 2 or table.strategy != "mod":
        return in_order(table)
    parts = enumerate(table.pieces)
    return tf.concat([_keys(table, number, tf.range(part.rows, dtype=tf.int64)) for number, part in parts], 0)


def in_order(table: Table) -> tf.Tensor:
    """Return the key of each row of the variable, in the order of its ids."""
    return tf.range(table.rows, dtype=tf.int64) + table.first_key


def all_rows(runtime_table: RuntimeTable, table: Table, part: int) -> tf.Tensor:
    """Return the current rows of the variable, or of a part of it.

    A branch may be there so that nothing is read before it is started: `initialized_value()`, an average's beginning.
    """
    inside = _tf_private.may_run_or_not(tf.compat.v1.get_default_graph())
    with tf.device("/device:CPU:0"):
        keys = row_keys(table, part)
        rows = rows_in_place(runtime_table, keys, inside)
    return rows if table.is_matrix else tf.reshape(rows, [table.pieces[part].rows, *table.row])


def assign_rows(runtime_table: RuntimeTable, table: Table, assignment: Assignment, take: Take) -> tf.Operation:
    """Assign all rows of the variable, or of a part of it, after what the old op waited for."""
    value = take(assignment.value)
    old = value.graph.get_operation_by_name(assignment.op)
    initializers = {part.initializer for part in table.pieces}
    waits = [runtime_table.anchor.initializer if op.name in initializers else op for op in old.control_inputs]
    with tf.control_dependencies(waits):
        keys = row_keys(table, assignment.part)
        return runtime_table.anchor.set_rows(keys, _matrix(table, value))


def replaced_variable(runtime_table: RuntimeTable, table: Table, take: Take, started: tf.Operation) -> ReplacedVariable:
    """Return how programs fetch and load the table, where they find it in a collection.

    The op `started` sets the rows of the last part to its initial ones, which are fed to load a variable of one part.
    """
    with tf.name_scope("whole"), tf.device("/device:CPU:0"):
        rows = rows_in_place(runtime_table, in_order(table))
        rows = rows if table.is_matrix else tf.reshape(rows, table.shape)
        initial, loaded = take(table.pieces[0].initial), started
        if len(table.pieces) > 1:
            initial = tf.compat.v1.placeholder(tf.float32, table.shape)
            loaded = runtime_table.anchor.set_whole(initial, table.shape)
    laid = functools.partial(layout, table)
    return ReplacedVariable(table.shape, table.slots, rows, initial, loaded, laid, *names_in_checkpoints(table))


def start_slot(runtime_table: RuntimeTable, table: Table, start: SlotStart) -> tf.Operation:
    """Give a slot its first values again, in all rows; nothing else changes."""
    number = table.optimizers[start.owner].starts[start.number]
    with tf.device("/device:CPU:0"):
        ops = [
            native.ops().rec_table_start_slot(held.created, start.owner, start.number, number)
            for held in runtime_table.parts or [runtime_table]
        ]
        return ops[0] if len(ops) == 1 else tf.group(*ops)


def unread(shape: Sequence[int]) -> tf.Tensor:
    """Return a ref variable for assignments whose results are still used; it needs memory only once one runs."""
    return tf.raw_ops.VariableV2(shape=list(shape), dtype=tf.float32)


def gradient(table: Table, update: Update, take: Take) -> tf.IndexedSlices:
    """Return the gradient of an update by id: of the whole lookup, of its pieces concatenated, or of no rows."""
    if not update.gradients:
        return tf.IndexedSlices(tf.zeros([0, table.dim]), tf.zeros([0], tf.int64))
    if not update.pieces:
        ((slices, ids),) = update.gradients
        return tf.IndexedSlices(_matrix(table, take(slices)), _ids(take(ids)))
    if table.parts:
        values = [_matrix(table, take(values)) for values, _ in update.pieces]
        keys = [_keys(table, number, take(rows)) for number, (_, rows) in enumerate(update.pieces)]
    else:
        none = (None,) * len(update.pieces)
        pieces = zip(update.pieces, update.weights or none, strict=True)
        gradients = [_piece(table, take, *piece) for piece in pieces]
        values, keys = [one for one, _ in gradients], [ids for _, ids in gradients]
    return tf.IndexedSlices(tf.concat(values, 0), tf.concat(keys, 0))


def _piece(
    table: Table, take: Take, piece: tuple[Tensor, Tensor], weights: Tensor | None
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return values [n, dim] and ids [n] of a gradient of a lookup, or of a product with a sparse matrix."""
    values, ids = map(take, piece)
    if weights is not None:
        values, ids = tf.gather(values, ids[:, 0]) * tf.expand_dims(take(weights), 1), ids[:, 1]
    return _matrix(table, values), _ids(ids)


def _matrix(table: Table, values: tf.Tensor) -> tf.Tensor:
    """Return values with rows of the variable, [n, *row], as rows of the table, [n, dim]."""
    return values if table.is_matrix and values.shape.rank == 2 else tf.reshape(values, [-1, table.dim])


def _ids(keys: tf.Tensor) -> tf.Tensor:
    """Return the ids of a gradient as a vector."""
    return tf.cast(keys if keys.shape.rank == 1 else tf.reshape(keys, [-1]), tf.int64)


def _keys(table: Table, number: int, rows: tf.Tensor) -> tf.Tensor:
    """Return the ids of given rows of one part."""
    rows = tf.cast(rows, tf.int64)
    if table.strategy == "mod":
        return rows * len(table.pieces) + number
    return rows + [0, *accumulate(part.rows for part in table.pieces)][number]


def names_in_checkpoints(table: Table) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return the names of the variable's parts in a checkpoint of the original model, and the same for each slot.

    Parts made by a partitioner are one tensor there, under the name of the whole variable.
    """
    first = table.pieces[0]
    if first.name != table.name:
        return (table.name,), tuple((f"{table.name}/{slot[len(first.name) + 1 :]}",) for slot in first.slots)
    return tuple(part.name for part in table.pieces), tuple(zip(*(part.slots for part in table.pieces), strict=True))


def layout(table: Table, names: Sequence[str], slots: Sequence[Sequence[str]]) -> str:
    """Return as JSON which rows of the table are those of each name in a checkpoint, and which column of the slots."""
    parts, runs = len(table.pieces), [[0, 1, table.rows]]
    if table.strategy == "mod":
        runs = [[number, parts, part.rows] for number, part in enumerate(table.pieces)]
    elif parts > 1:
        starts = accumulate((part.rows for part in table.pieces), initial=0)
        runs = [[start, 1, part.rows] for start, part in zip(starts, table.pieces, strict=False)]
    groups = [(0.0, names), *(zip(table.starts, slots, strict=True) if len(slots) == len(table.starts) else ())]
    columns = [
        [name, number, start, runs if len(group) == 1 else [runs[at]]]
        for number, (start, group) in enumerate(groups)
        for at, name in enumerate(group)
    ]
    return json.dumps({"row": table.row, "columns": columns})
