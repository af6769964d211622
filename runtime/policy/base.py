"""The base of a table: the rows of the buckets that ids were hashed or divided into before, which new rows begin as."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _tf_private, _validation, native
from runtime.native.base_keys import FIRST_BASE_KEY
from runtime.ranks import placements
from runtime.ranks.process_group import current
from runtime.table.table import Table, grouped


@_tf_private.as_written
def set_base(table: Table, source: Any) -> tf.Operation | None:
    """Let ids without a row begin as the rows of their buckets. In a graph, return an op.

    Rows that are there stay as they are. Buckets that `source` has no row for begin with the initializer, as they would
    have in the bucketed table. A checkpoint of `table` holds the base, once. Of several ranks, each has the whole base:
    all of them call this, with the same matrix or the table that they share.

    Args:
        table: a table that was made with `base_buckets`.
        source: rows float32 [N, dim], those of a vocabulary's words among them (slots start as those of new rows, and
            stay where there is a base already), or a table of the same width whose keys are these N: then its slots
            come along, with what its optimizer has counted for rows.

    Raises:
        ValueError: `table` has no `base_buckets`, or `source` another shape or width.
        tf.errors.InvalidArgumentError: `source` has a key that is no bucket, or the slots of another optimizer than
            `table` has already.
        tf.errors.ResourceExhaustedError: the base is larger than the `max_bytes` of `table`; then nothing has changed.
    """
    count = _rows(table)
    if isinstance(source, Table):
        return _set_by_table(table, source, count)
    rows = _validation.tensor("source", f"of the base of the table `{table.table_name}`", source, tf.float32)
    if not rows.shape.is_compatible_with([count, table.dim]):
        raise ValueError(
            f"`source` of the base of the table `{table.table_name}` has shape {rows.shape}: it must be "
            f"[{count}, {table.dim}]"
        )
    return grouped(
        table.in_parts("set_base", lambda part: native.ops().rec_table_upsert(part.handle, _keys(count), rows))
    )


def _set_by_table(table: Table, source: Table, count: int) -> tf.Operation | None:
    if source.dim != table.dim:
        raise ValueError(
            f"the table `{source.table_name}` has dim {source.dim} and cannot be the base of "
            f"`{table.table_name}` with dim {table.dim}: give a table of the same width"
        )
    keys, values, slots, meta = _rows_of_all_ranks(source)
    bounded = tf.debugging.assert_equal(
        tf.reduce_all((keys >= 0) & (keys < count)),
        True,
        message=f"the table `{source.table_name}` has a key that is none of the {count} buckets of the base "
        f"of `{table.table_name}`: create that with as many base_buckets as ids were divided into",
    )

    def merge(part: Table) -> tf.Operation | None:
        with tf.control_dependencies([] if bounded is None else [bounded]):
            return native.ops().rec_table_merge(part.handle, keys + FIRST_BASE_KEY, values, slots, meta, counters=False)

    return grouped(table.in_parts("set_base", merge))


@_tf_private.as_written
def forget_base(table: Table) -> tf.Operation | None:
    """Delete the base: ids that have no row yet begin with the initializer from now on. In a graph, return an op.

    Raises:
        ValueError: the table has no `base_buckets`.
    """
    count = _rows(table)
    return grouped(table.in_parts("forget_base", lambda part: native.ops().rec_table_remove(part.handle, _keys(count))))


def put_matrix(table: Table, matrix: Any) -> None:
    """Set the rows of the ids from 0 on, or of the buckets, if ids begin as these; in eager mode."""
    if table.has_base:
        set_base(table, matrix)
    else:
        table.import_rows(tf.range(len(matrix), dtype=tf.int64), matrix)


def _rows(table: Table) -> int:
    """Return the number of rows of the base."""
    _validation.kind("table", table, Table, "a table created by create_table")
    divided = table.arguments.base_buckets
    if divided is None:
        raise ValueError(
            f"the table `{table.table_name}` has no base: create it with base_buckets=N, N being the number of buckets"
        )
    return divided.rows


def _rows_of_all_ranks(source: Table) -> tuple[tf.Tensor, ...]:
    """Return a snapshot with the rows of all ranks; what its optimizer has counted is the same on each."""
    keys, values, slots, meta = source.snapshot()
    if current().size == 1 or source.placement == placements.REPLICATED:
        return keys, values, slots, meta
    rows = current().all_gather(tf.concat([values, slots], 1))[0]
    return current().all_gather(keys)[0], rows[:, : source.dim], rows[:, source.dim :], meta


def _keys(count: int) -> tf.Tensor:
    return tf.range(count, dtype=tf.int64) + FIRST_BASE_KEY
