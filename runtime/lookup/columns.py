"""Lookups in tables that are cut by columns: in all parts at once, whose columns are put side by side."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _tf_private, _validation
from runtime.lookup.grouped import grouped_lookup
from runtime.lookup.grouped_pooled import grouped_embedding_lookup_sparse
from runtime.table.columns import ColumnTable


@_tf_private.as_written
def column_lookup(table: ColumnTable, ids: Any, is_train: Any = True, is_grad: bool = True) -> tf.Tensor:
    """Return the rows of ids, float32 of shape ids.shape + [dim], as `sparse_lookup` does from other tables.

    Raises:
        ValueError: it is no table of `create_column_table`, or see `sparse_lookup`.
    """
    _require(table)
    rows: tf.Tensor = table.joined(grouped_lookup(table.pairs(ids), is_train, is_grad))
    return rows


@_tf_private.as_written
def column_lookup_sparse(
    table: ColumnTable, ids: Any, weights: Any = None, combiner: str | None = None, is_train: Any = True
) -> tf.Tensor:
    """Return for each bag of ids the combined row [dim], as `embedding_lookup_sparse` does from other tables.

    It has no `max_norm`, which needs whole rows.

    Raises:
        ValueError: it is no table of `create_column_table`, or see `embedding_lookup_sparse`.
    """
    _require(table)
    lookups = [(one, ids) if weights is None else (one, ids, weights) for one in table.tables]
    rows: tf.Tensor = table.joined(grouped_embedding_lookup_sparse(lookups, combiner, is_train=is_train))
    return rows


def _require(table: Any) -> None:
    _validation.kind("table", table, ColumnTable, "a table of create_column_table")
