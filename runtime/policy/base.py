"""The base of a table: the rows of the buckets that ids were hashed or divided into before, which new rows begin as."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from runtime import _tf_private, _validation, native
from runtime.table.table import Table

#: In snapshots and checkpoints, the row of bucket b has the key FIRST_BASE_KEY + b; ids are above these keys.
FIRST_BASE_KEY, MOST_BUCKETS = -(2**63), 2**32


@_tf_private.as_written
def set_base(table: Table, source: Any) -> tf.Operation | None:
    """Let ids without a row begin as the rows of their buckets, id mod `base_buckets`. In a graph, return an op.

    Rows that are there stay as they are. Buckets that `source` has no row for begin with the initializer, as they would
    have in the bucketed table. A checkpoint of `table` holds the base, once.

    Args:
        table: a table that was made with `base_buckets`.
        source: rows float32 [base_buckets, dim] (slots start as those of new rows), or a table of the same width whose
            keys are buckets: then its slots come along, with what its optimizer has counted for rows.

    Raises:
        ValueError: `table` has no `base_buckets`, or `source` another shape or width.
        tf.errors.InvalidArgumentError: `source` has a key that is no bucket, or the slots of another optimizer than
            `table` has already.
    """
    buckets = _buckets(table)
    with table.scope("set_base"), table.written():
        if isinstance(source, Table):
            if source.dim != table.dim:
                raise ValueError(
                    f"the table `{source.table_name}` has dim {source.dim} and cannot be the base of "
                    f"`{table.table_name}` with dim {table.dim}: give a table of the same width"
                )
            keys, values, slots, meta = source.snapshot()
            bounded = tf.debugging.assert_equal(
                tf.reduce_all((keys >= 0) & (keys < buckets)),
                True,
                message=f"the table `{source.table_name}` has a key that is none of the {buckets} buckets of the base "
                f"of `{table.table_name}`: create that with as many base_buckets as ids were divided into",
            )
            with tf.control_dependencies([] if bounded is None else [bounded]):
                return native.ops().rec_table_merge(table.handle, keys + FIRST_BASE_KEY, values, slots, meta)
        rows = _validation.tensor("source", f"of the base of the table `{table.table_name}`", source, tf.float32)
        if not rows.shape.is_compatible_with([buckets, table.dim]):
            raise ValueError(
                f"`source` of the base of the table `{table.table_name}` has shape {rows.shape}: it must be "
                f"[{buckets}, {table.dim}]"
            )
        return native.ops().rec_table_upsert(table.handle, _keys(buckets), rows)


@_tf_private.as_written
def forget_base(table: Table) -> tf.Operation | None:
    """Delete the base: ids that have no row yet begin with the initializer from now on. In a graph, return an op.

    Raises:
        ValueError: the table has no `base_buckets`.
    """
    buckets = _buckets(table)
    with table.scope("forget_base"), table.written():
        return native.ops().rec_table_remove(table.handle, _keys(buckets))


def keys_of_rows(table: Table, rows: int) -> tf.Tensor:
    """Return the keys, int64 [rows], that rows of the original's variable have in a table: those of buckets, if any."""
    first = FIRST_BASE_KEY if table.arguments.base_buckets else 0
    return tf.range(rows, dtype=tf.int64) + first


def row_of_base(buckets: Any, keys: Any) -> Any:
    """Return the row of the base that each key begins as; `keys` is an integer array, `buckets` as a table has it."""
    count = getattr(buckets, "count", buckets)
    first, start = getattr(buckets, "first", 0), getattr(buckets, "start", 0)
    return np.where((keys >= 0) & (keys < start), keys, first + (keys - start) % count)


def _buckets(table: Table) -> int:
    _validation.kind("table", table, Table, "a table made by create_table")
    buckets = table.arguments.base_buckets
    if not buckets:
        raise ValueError(
            f"the table `{table.table_name}` has no base: create it with base_buckets=N, N being the number of buckets"
        )
    return buckets


def _keys(buckets: int) -> tf.Tensor:
    return tf.range(buckets, dtype=tf.int64) + FIRST_BASE_KEY
