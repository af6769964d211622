"""Pooled lookups: sparse or ragged ids to one row per example, like `tf.nn.embedding_lookup_sparse`.

A single op looks up, applies weights, sums and divides; its gradient has one row per distinct key. Rows of single ids
are never materialized.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime import _tf_private, _validation
from runtime.lookup import counted_pooled, id_checks
from runtime.lookup.pooled_ops import plain, pooled, safe, safe_settings
from runtime.lookup.whole_table import taken_by_all_rows, wants_dense_gradient
from runtime.table.table import Table


@_tf_private.as_written
def embedding_lookup_sparse(
    table: Table,
    sp_ids: Any,
    sp_weights: Any = None,
    combiner: str | None = None,
    max_norm: Any = None,
    name: str | None = None,
    *,
    is_train: Any = True,
    is_grad: bool = True,
    negative_keys: bool = False,
    modify_graph: bool | None = False,
    dense_gradient: bool = False,
) -> tf.Tensor:
    """Return float32 [rows, dim]: the sum, mean or sqrtn of each row's embeddings, as `tf.nn.embedding_lookup_sparse`.

    As there, the number of rows is one more than the last row with an id, rows without an id are zero, and a negative
    id is an error when the op runs.

    Args:
        table: takes the place of TensorFlow's `params`.
        sp_ids: SparseTensor in row-major order, or RaggedTensor of rank 2; int32 or int64.
        sp_weights: the same kind with a weight per id, or None for ones. They get gradients, for which all rows are
            read again: wrap weights that need none in tf.stop_gradient.
        combiner: "mean" (also for None), "sqrtn" or "sum".
        max_norm: embeddings with a larger l2 norm are scaled down to it before they are combined.
        name: scope of the ops.
        is_train: as in `sparse_lookup`.
        is_grad: False stops the gradient.
        negative_keys: True makes negative ids ordinary keys (64-bit hashes can be negative).
        modify_graph: as in `sparse_lookup`.
        dense_gradient: as in `sparse_lookup`.

    Raises:
        ValueError: an argument has a wrong value, or a table with dynamic expansion is to be trained.
        TypeError: ids or weights are neither sparse nor ragged.
    """
    arguments = (table, sp_ids, sp_weights, combiner, max_norm)
    settings = {"negative_keys": _validation.boolean("negative_keys", negative_keys)}
    return _looked_up(
        lambda: counted_pooled.lookup_sparse([table], *arguments[1:], name),
        functools.partial(pooled, plain, arguments, settings, name, is_train, is_grad, modify_graph),
        *(table, name, is_grad, dense_gradient),
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
    *,
    is_train: Any = True,
    is_grad: bool = True,
    modify_graph: bool | None = False,
    dense_gradient: bool = False,
) -> tf.Tensor:
    """Return float32 [*leading dimensions, dim], as `tf.nn.safe_embedding_lookup_sparse`.

    Negative ids are dropped and, unless summing, ids with weights that are not above 0. A row in which no id is left
    gets the row of `default_id`, or zeros. Ids are pooled over their last dimension. The other arguments are those of
    `embedding_lookup_sparse`.

    Raises:
        ValueError: an argument has a wrong value.
        TypeError: ids or weights are neither sparse nor ragged.
    """
    arguments = (table, sparse_ids, sparse_weights, combiner)
    return _looked_up(
        lambda: counted_pooled.safe_lookup_sparse([table], *arguments[1:], default_id, max_norm, name),
        functools.partial(
            pooled, safe, (*arguments, max_norm), safe_settings(default_id), name, is_train, is_grad, modify_graph
        ),
        *(table, name, is_grad, dense_gradient),
    )


def _looked_up(
    counted: Callable[[], tf.Tensor],
    plain: Callable[[], tf.Tensor],
    table: Table,
    name: str | None,
    is_grad: Any,
    dense_gradient: bool,
) -> tf.Tensor:
    """Return what `counted` gives for a counted table, or what `plain` gives for another."""
    id_checks.require_table(table, "table")
    if name is not None:
        _validation.text("name", name)
    dense = wants_dense_gradient(table, dense_gradient)
    if table.reads_each_step:
        return counted() if _validation.boolean("is_grad", is_grad) else tf.stop_gradient(counted())
    return taken_by_all_rows(table, plain()) if dense and is_grad else plain()
