"""Rows that this rank holds, read without an exchange: other ranks need not call these functions."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _tf_private
from runtime._assertions import checked
from runtime.embedding_variable.counted_table import CountedTable
from runtime.lookup import id_checks
from runtime.lookup.sparse import dense_keys, sparse_rows
from runtime.policy import admission
from runtime.ranks import placements
from runtime.table.table import Table


@_tf_private.as_written
def local_lookup(
    table: Table, ids: Any, is_train: Any = True, name: str | None = None, *, foreign: bool = False
) -> tf.Tensor:
    """Return the rows of ids that this rank holds, float32 of shape ids.shape + [dim]; in one process, of any ids.

    As `sparse_lookup`, it inserts new ids unless `is_train` is False, and has gradients. With `foreign`, ids that
    another rank holds have rows of this rank's own, as in SOK: no `sparse_lookup` reads them, and a checkpoint that is
    restored does not bring them back.

    Raises:
        ValueError: it is a counted table, or has an admission rule, or ids are not int32 or int64.
        tf.errors.InvalidArgumentError: when the op runs, and another rank holds one of the ids; not with `foreign`.
    """
    id_checks.require_table(table, "table")
    if isinstance(table, CountedTable) or admission.rules_for(table, None, is_train).access_threshold is not None:
        raise ValueError(
            f"local_lookup cannot read the table `{table.table_name}`, which counts how often it sees each id: use "
            "sparse_lookup"
        )
    id_checks.with_gradient([table], True)
    with tf.name_scope(name or f"{table.table_name}_local_lookup"), tf.device("/device:CPU:0"):
        keys = id_checks.wide(dense_keys(ids, table))
        held = None if foreign else placements.held(keys, table.placement)
        if held is not None:
            elsewhere = (
                f"local_lookup in the table `{table.table_name}` reads rows that another rank holds: use sparse_lookup"
            )
            with tf.control_dependencies([checked(tf.reduce_all(held), elsewhere, keys)]):
                keys = tf.identity(keys)
        rows = sparse_rows(table, keys, is_train)
        id_checks.set_shape(rows, keys, table.dim)
        return rows


@_tf_private.as_written
def local_rows(table: Table, name: str | None = None) -> tf.Tensor:
    """Return this rank's rows of a table with the keys 0 to `device_vocabulary_size` - 1, by key: float32 [n, dim].

    Rows that were never looked up have their initial values; none is inserted.
    """
    keys = tf.range(table.arguments.device_vocabulary_size, dtype=tf.int64)
    mine = placements.held(keys, table.placement)
    return local_lookup(table, keys if mine is None else tf.boolean_mask(keys, mine), is_train=False, name=name)
