"""Pooled lookups: sparse or ragged ids to one row per example, as `tf.nn.embedding_lookup_sparse` gives it.

One op looks up, weighs, sums and divides; its gradient comes per distinct key. No vector per id is ever made.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _tf_private, _validation
from runtime.lookup import counted_pooled, id_checks
from runtime.lookup.pooled_ops import fused, fused_safe
from runtime.table.table import Table


@_tf_private.as_written
@_tf_private.as_written
def embedding_lookup_sparse(
    table: Table,
    sp_ids: Any,
    sp_weights: Any = None,
    combiner: str | None = None,
    max_norm: Any = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
    partition_strategy: str | None = None,
    *,
    is_train: Any = True,
    is_grad: bool = True,
    negative_keys: bool = False,
    modify_graph: bool | None = False,
) -> tf.Tensor:
    """Return float32 [rows, dim]: the sum, mean or sqrtn of each row's embeddings, as `tf.nn.embedding_lookup_sparse`.

    As there, rows is one more than the last row that has an id, rows in between without one are zeros, and a negative
    id is an error when the op runs.

    Args:
        table: stands where stock TensorFlow has `params`.
        sp_ids: SparseTensor in row-major order, or RaggedTensor of rank 2; int32 or int64.
        sp_weights: the same kind with a weight per id, or None: all are 1. They get gradients, which cost a reading of
            all rows: put tf.stop_gradient around values that need none.
        combiner: "mean" (also for None), "sqrtn" or "sum".
        max_norm: embeddings of a greater l2 norm are scaled down to it before they are combined.
        name: of the scope that the ops get.
        allow_fast_lookup: accepted; the lookup is always fast.
        partition_strategy: accepted; a table has no partitions.
        is_train: as in `sparse_lookup`.
        is_grad: False cuts the gradient.
        negative_keys: True makes negative ids keys like all others (hashes of 64 bits have them).
        modify_graph: as in `sparse_lookup`.

    Raises:
        ValueError: an argument of a wrong value, or training a table that expands.
        TypeError: ids or weights that are neither sparse nor ragged.
    """
    del allow_fast_lookup, partition_strategy
    id_checks.require_table(table, "table")
    if name is not None:
        _validation.text("name", name)
    _validation.boolean("negative_keys", negative_keys)
    if table.reads_each_step:
        counted = counted_pooled.lookup_sparse([table], sp_ids, sp_weights, combiner, max_norm, name)
        return counted if _validation.boolean("is_grad", is_grad) else tf.stop_gradient(counted)
    return fused(
        table,
        sp_ids,
        sp_weights,
        combiner,
        max_norm,
        name,
        is_train,
        is_grad,
        negative_keys=negative_keys,
        modify_graph=modify_graph,
    )


@_tf_private.as_written
def safe_embedding_lookup_sparse(
    table: Table,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = "mean",
    default_id: int | None = None,
    max_norm: Any = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
    partition_strategy: str | None = None,
    *,
    is_train: Any = True,
    is_grad: bool = True,
    modify_graph: bool | None = False,
) -> tf.Tensor:
    """Return float32 [*leading dimensions, dim], as `tf.nn.safe_embedding_lookup_sparse`.

    Negative ids are left out and, unless summing, weights that are not above 0 with their ids. A row in which nothing
    is left gets the row of `default_id`, or zeros. Ids pool over their last dimension. The other arguments are those of
    `embedding_lookup_sparse`, which says that `allow_fast_lookup` and `partition_strategy` change nothing.

    Raises:
        ValueError: an argument of a wrong value.
        TypeError: ids or weights that are neither sparse nor ragged.
    """
    del allow_fast_lookup, partition_strategy
    id_checks.require_table(table, "table")
    if name is not None:
        _validation.text("name", name)
    if table.reads_each_step:
        counted = counted_pooled.safe_lookup_sparse(
            [table], sparse_ids, sparse_weights, combiner, default_id, max_norm, name
        )
        return counted if _validation.boolean("is_grad", is_grad) else tf.stop_gradient(counted)
    return fused_safe(
        table,
        sparse_ids,
        sparse_weights,
        combiner,
        default_id,
        max_norm,
        name,
        is_train,
        is_grad,
        modify_graph=modify_graph,
    )
