"""A lookup in several tables that share the rows of one matrix: `tf.nn.embedding_lookup([a, b], ids)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private
from runtime.lookup import id_checks
from runtime.lookup.sparse import dense_keys, sparse_lookup
from runtime.table.table import Table


@_tf_private.as_written
def partitioned_lookup(
    tables: Sequence[Table],
    ids: Any,
    partition_strategy: str = "mod",
    is_train: Any = True,
    name: str | None = None,
    modify_graph: bool | None = False,
) -> tf.Tensor:
    """Return the rows of `ids`: float32 of shape ids.shape + [dim], each from the table that TensorFlow would read.

    Args:
        tables: two or more tables with equal dim. With `mod`, id i of the whole matrix is row i // n of table i % n.
            With `div`, each table has a range of ids whose length is its `device_vocabulary_size`, if these differ by
            at most one.
        ids: int32 or int64 tensor of any rank, ids of the whole matrix.
        partition_strategy: `mod` or `div`, as in `tf.compat.v1.nn.embedding_lookup`.
        is_train: see `sparse_lookup`.
        name: scope of the ops.
        modify_graph: see `sparse_lookup`.

    Raises:
        ValueError: there is no table, dims differ, or the strategy is unknown.
    """
    tables = list(tables)
    if not tables or len({table.dim for table in tables}) > 1:
        raise ValueError(f"`tables` must have equal dims: got {[table.dim for table in tables]}")
    if partition_strategy not in {"mod", "div"}:
        raise ValueError(f"`partition_strategy` must be 'mod' or 'div': got {partition_strategy!r}")
    with tf.name_scope(name or "partitioned_lookup"):
        dense = dense_keys(ids, tables[0])
        flat = tf.cast(tf.reshape(dense, [-1]), tf.int64)
        part, row = (_by_turns if partition_strategy == "mod" else _by_ranges)(flat, tables)
        part = tf.cast(part, tf.int32)
        keys = tf.dynamic_partition(row, part, len(tables))
        places = tf.dynamic_partition(tf.range(tf.size(flat)), part, len(tables))
        more = {"is_train": is_train, "modify_graph": modify_graph}
        rows = [sparse_lookup(table, own, **more) for table, own in zip(tables, keys, strict=True)]
        shape = tf.concat([tf.shape(dense), [tables[0].dim]], 0)
        shaped = tf.reshape(tf.dynamic_stitch(places, rows), shape)
        id_checks.set_shape(shaped, dense, tables[0].dim)
        return shaped


def _by_turns(ids: tf.Tensor, tables: list[Table]) -> tuple[tf.Tensor, tf.Tensor]:
    return ids % len(tables), ids // len(tables)


def _by_ranges(ids: tf.Tensor, tables: list[Table]) -> tuple[tf.Tensor, tf.Tensor]:
    """Return table and row of each id: the first tables have one row more if the rows do not divide evenly."""
    rows, longer = divmod(sum(table.device_vocabulary_size for table in tables), len(tables))
    part = tf.maximum(ids // (rows + 1), (ids - longer) // max(rows, 1))
    return part, tf.where(part < longer, ids % (rows + 1), (ids - longer) % max(rows, 1))
