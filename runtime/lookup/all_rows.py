"""`all_rows`: the rows of a range of ids as one matrix, as reading a whole variable gives it."""

from __future__ import annotations

import contextlib
import functools

import tensorflow as tf

from runtime import _tf_private, _validation, native
from runtime.embedding_variable.counted_table import CountedTable
from runtime.lookup import id_checks, on_device
from runtime.lookup.sparse import sparse_lookup
from runtime.policy import admission
from runtime.ranks.fused_exchange import Request, handles_of, rows_of_all
from runtime.table.clusters.served import served_rows
from runtime.table.table import Table

_MOST = 2**63 - 1


@_tf_private.as_written
def all_rows(
    table: Table,
    size: int | None = None,
    first: int = 0,
    trainable: bool = False,
    name: str | None = None,
    once: bool = False,
    vector: bool = False,
) -> tf.Tensor:
    """Return the rows of the ids `first` to `first + size - 1`, float32 [size, dim]: what reading a variable returns.

    Nothing is inserted, counted, or moved between tiers. An id without a row reads what a lookup for evaluation reads:
    the row that it would begin with, or, in a table with admission, zeros. The rows are read some at a time, so updates
    of other threads may come between; each row is read as a whole.

    In a v1 graph no update waits for this read, and it waits for none, as it is with a variable: use
    `tf.control_dependencies` where one session.run has both. A `tf.function` runs them in the order of the code. With
    several ranks, all must read at the same time, and each gets all rows.

    Args:
        table: a table of this graph.
        size: how many ids; None: the `device_vocabulary_size` of the table.
        first: the first id.
        trainable: True looks all ids up for training: rows are inserted, and a loss trains each of them in each step.
            False: the result is for evaluation, and taking gradients through it raises LookupError. `tf.stop_gradient`
            of it may be a part of a loss.
        name: scope of the ops.
        once: True returns the same tensor for the same ids each time, in the graph of the table whatever the default
            graph is: for a `session.run` in a loop, which would otherwise add ops to the graph in every turn. Without
            meaning for an eager table. Not with `trainable`.
        vector: True returns [size] for a table of width 1, which stands for a variable of one dimension.

    Raises:
        ValueError: an argument has a wrong type or range, `once` and `trainable` are True, or `vector` is True for a
            table of another width.
    """
    kept = _validation.boolean("once", once) and isinstance(table, Table) and table.graph is not None
    with table.graph.as_default() if kept else contextlib.nullcontext():
        id_checks.require_table(table, "table")
        start, count = _range(table, first, size)
        trains = _validation.boolean("trainable", trainable)
        if once and trains:
            raise ValueError("`once` is for reads that a session fetches: leave it False where `trainable` is True")
        if _validation.boolean("vector", vector) and table.dim != 1:
            raise ValueError(f"`vector` is for tables of width 1: `{table.table_name}` has {table.dim} columns")

        def read() -> tf.Tensor:
            with tf.name_scope(name or f"{table.table_name}_all_rows"), tf.device("/device:CPU:0"):
                keys = start + tf.range(count, dtype=tf.int64)
                rows = sparse_lookup(table, keys) if trains else rows_in_place(table, keys)
                return rows[:, 0] if vector else rows

        if not kept:
            return read()
        key = (start, count, vector)
        if key not in table.whole_reads:
            # No branch, and no op that the caller waits for, belongs to a tensor that others get too.
            with tf.control_dependencies(None):
                table.whole_reads[key] = read()
        return table.whole_reads[key]


def _range(table: Table, first: int, size: int | None) -> tuple[int, int]:
    """Return the first of the ids that are read, and how many there are."""
    count = table.device_vocabulary_size if size is None else _validation.integer("size", size, 1, _MOST)
    start = _validation.integer("first", first, -_MOST, _MOST)
    if start + count > _MOST:
        raise ValueError(f"`first` + `size` is {start + count}: ids must be below {_MOST}")
    return start, count


def rows_in_place(table: Table, keys: tf.Tensor, inside: bool = False) -> tf.Tensor:
    """Return the rows of int64 keys [n], float32 [n, dim]; as `all_rows`, for any keys.

    `inside` says that the native table must not be found outside of the current branch.
    """
    request = _request(table, keys, inside)
    if table.parts:
        held = functools.partial(_held, inside=inside)
        (rows,) = served_rows([table], [request], lambda parts, keys: list(map(held, parts, keys)))
    else:
        (rows,) = rows_of_all([request])
    id_checks.set_shape(rows, keys, table.dim)
    with tf.device(rows.device):
        return tf.raw_ops.PreventGradient(
            input=rows,
            message=(
                f"all_rows of the table `{table.table_name}` has no gradient: call it with trainable=True, or "
                "use tf.stop_gradient of its result"
            ),
        )


def _request(table: Table, keys: tf.Tensor, inside: bool) -> Request:
    if not isinstance(table, CountedTable):
        admission.rules_for(table, None, is_train=False)  # tells lookups that disagree
    return Request(
        keys,
        table.placement,
        lambda own: _held(table, own, inside),
        dim=table.dim,
        name=table.table_name,
        handles=handles_of([table]),
    )


def _held(table: Table, keys: tf.Tensor, inside: bool) -> tf.Tensor:
    """Return the rows of keys that this process holds. No list of lookups has it, so that no update waits for it."""
    ops, of = native.ops(), (table.handle_inside() if inside else table.handle, table.variable.tensor(), keys)
    if isinstance(table, CountedTable):
        rules = table.rules
        rows = (
            ops.rec_lookup_permitted(*of, refused=rules.refused, in_place=True)
            if rules.threshold > 0
            else ops.rec_lookup(*of, [], in_place=True)
        )
    elif table.admission is not None and table.admission.access_threshold is not None:
        rows, _ = ops.rec_lookup_admitted(*of, threshold=table.admission.access_threshold, in_place=True)
    else:
        rows = ops.rec_lookup(*of, [], in_place=True)
    return rows if table.on_device is None else on_device.current_rows(table, keys, rows)
