"""Pooled lookups: sparse or ragged ids to one row per example, as `tf.nn.embedding_lookup_sparse` gives it.

One op looks up, weighs, sums and divides; its gradient comes per distinct key. No vector per id is ever made.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from runtime import _checks, _ids, _tensorflow, admission, native, ranks
from runtime.lookup import sparse_rows
from runtime.ranks import pooling
from runtime.ranks.fused import Request, Together, handles_of, rows_of_all
from runtime.table import Table

_COMBINERS = ("mean", "sqrtn", "sum")


@dataclass(frozen=True)
class _Bags:
    """Ids [n] with their weights [n] or [0], and which bag each is in: row splits, or a SparseTensor's indices."""

    keys: tf.Tensor
    weights: tf.Tensor
    weighted: bool
    layout: tf.Tensor
    splits: bool


@dataclass(frozen=True)
class Pooling:
    """One checked pooled lookup: what its op takes, and what becomes of the op's output [rows, dim]."""

    table: Table
    bags: _Bags
    rows: tf.Tensor
    combiner: str
    max_norm: tf.Tensor
    finish: Callable[[tf.Tensor], tf.Tensor]

    def finished(self, pooled: tf.Tensor, trains: bool) -> tf.Tensor:
        """Return what the caller gets for the op's output."""
        pooled.set_shape([None, self.table.dim])
        return self.finish(pooled if trains else tf.stop_gradient(pooled))


@_tensorflow.as_written
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
    _ids.require_table(table, "table")
    if name is not None:
        _checks.text("name", name)
    _checks.boolean("negative_keys", negative_keys)
    if table.reads_each_step:
        counted = _counted().lookup_sparse([table], sp_ids, sp_weights, combiner, max_norm, name)
        return counted if _checks.boolean("is_grad", is_grad) else tf.stop_gradient(counted)
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
    `embedding_lookup_sparse`.

    Raises:
        ValueError: an argument of a wrong value.
        TypeError: ids or weights that are neither sparse nor ragged.
    """
    del allow_fast_lookup, partition_strategy
    _ids.require_table(table, "table")
    if name is not None:
        _checks.text("name", name)
    if table.reads_each_step:
        counted = _counted().safe_lookup_sparse(
            [table], sparse_ids, sparse_weights, combiner, default_id, max_norm, name
        )
        return counted if _checks.boolean("is_grad", is_grad) else tf.stop_gradient(counted)
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


def fused(
    table: Table,
    ids: Any,
    weights: Any,
    combiner: str | None,
    max_norm: Any,
    name: str | None,
    is_train: Any,
    is_grad: bool = True,
    *,
    negative_keys: bool,
    modify_graph: bool | None = False,
) -> tf.Tensor:
    """Return what `embedding_lookup_sparse` does, by one op whatever the table is."""
    with tf.name_scope(name or f"{table.table_name}_embedding_lookup_sparse"), tf.device("/device:CPU:0"):
        one = plain(table, ids, weights, combiner, max_norm)
        return _pooled(one, is_train, is_grad, modify_graph, {"negative_keys": negative_keys})


def fused_safe(
    table: Table,
    ids: Any,
    weights: Any,
    combiner: str | None,
    default_id: int | None,
    max_norm: Any,
    name: str | None,
    is_train: Any,
    is_grad: bool = True,
    *,
    modify_graph: bool | None = False,
) -> tf.Tensor:
    """Return what `safe_embedding_lookup_sparse` does, by one op whatever the table is."""
    settings = safe_settings(default_id)
    with tf.name_scope(name or f"{table.table_name}_embedding_lookup"), tf.device("/device:CPU:0"):
        return _pooled(safe(table, ids, weights, combiner, max_norm), is_train, is_grad, modify_graph, settings)


def _counted() -> Any:
    """Return the pooled lookups of counted tables, which are made of this module's."""
    from runtime import counted_pooled

    return counted_pooled


def plain(table: Table, ids: Any, weights: Any, combiner: str | None, max_norm: Any) -> Pooling:
    """Check the arguments of an `embedding_lookup_sparse`; raises as it does."""
    rows = tf.constant(-1, tf.int64)
    return _pooling(table, _bags(ids, weights, table), rows, combiner, max_norm, lambda pooled: pooled)


def safe_settings(default_id: int | None) -> dict[str, Any]:
    """Return the attributes of a `safe_embedding_lookup_sparse`."""
    default = _checks.integer("default_id", default_id or 0, 0, 2**63 - 1)
    return {"prune": True, "fill_empty": default_id is not None, "default_id": default}


def safe(table: Table, ids: Any, weights: Any, combiner: str | None, max_norm: Any) -> Pooling:
    """Check the arguments of a `safe_embedding_lookup_sparse`; raises as it does."""
    bags = _bags(ids, weights, table)
    if isinstance(ids, tf.RaggedTensor):
        shape = tf.TensorShape([ids.shape[0], table.dim])
        rows = ids.nrows(out_type=tf.int64)
        return _pooling(table, bags, rows, combiner, max_norm, lambda pooled: _shaped(pooled, shape))
    leading = tf.cast(ids.dense_shape[:-1], tf.int64)
    if ids.shape.rank != 2:
        bags = _linear(bags, leading)

    def reshaped(pooled: tf.Tensor) -> tf.Tensor:
        pooled = tf.reshape(pooled, tf.concat([leading, [table.dim]], 0))
        pooled.set_shape(ids.shape[:-1].concatenate([table.dim]))
        return pooled

    return _pooling(table, bags, tf.reduce_prod(leading), combiner, max_norm, reshaped)


def _shaped(pooled: tf.Tensor, shape: tf.TensorShape) -> tf.Tensor:
    pooled.set_shape(shape)
    return pooled


def _linear(bags: _Bags, leading: tf.Tensor) -> _Bags:
    """Number the rows of ids of another rank than 2 in row-major order."""
    strides = tf.math.cumprod(leading, exclusive=True, reverse=True)
    numbers = tf.reduce_sum(bags.layout[:, :-1] * strides, axis=1)
    return _Bags(bags.keys, bags.weights, bags.weighted, numbers, bags.splits)


def _bags(ids: Any, weights: Any, table: Table) -> _Bags:
    kind = tf.RaggedTensor if isinstance(ids, tf.RaggedTensor) else tf.SparseTensor
    if not isinstance(ids, kind):
        raise TypeError(
            f"the ids of the table `{table.table_name}` are {type(ids).__name__}: a pooled lookup takes a SparseTensor "
            "or a RaggedTensor; dense ids go to sparse_lookup"
        )
    if weights is not None and not isinstance(weights, kind):
        raise TypeError(
            f"the weights for the table `{table.table_name}` are {type(weights).__name__}: they must be None or a "
            f"{kind.__name__} as the ids are"
        )
    ragged = kind is tf.RaggedTensor
    if ragged and (ids.ragged_rank != 1 or ids.flat_values.shape.rank not in (1, None)):
        raise ValueError(
            f"the ids of the table `{table.table_name}` are ragged of shape {ids.shape}: they must be of rank 2, one "
            "ragged row per example"
        )
    keys = _ids.integers(ids.values, f"the table `{table.table_name}`")
    if weights is not None and not (weights.dtype.is_floating or weights.dtype.is_integer):
        raise ValueError(
            f"the weights for the table `{table.table_name}` are {weights.dtype.name}: they must be real numbers"
        )
    values = tf.zeros([0]) if weights is None else tf.cast(weights.values, tf.float32)
    if weights is not None:
        keys.shape.assert_is_compatible_with(values.shape)
    layout = tf.cast(ids.row_splits, tf.int64) if ragged else ids.indices
    return _Bags(keys, values, weights is not None, layout, ragged)


def _pooling(
    table: Table,
    bags: _Bags,
    rows: tf.Tensor,
    combiner: str | None,
    max_norm: Any,
    finish: Callable[[tf.Tensor], tf.Tensor],
) -> Pooling:
    combiner = "mean" if combiner is None else combiner
    if combiner not in _COMBINERS:
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    norm = tf.zeros([0]) if max_norm is None else _norm(max_norm, table)
    admission.agree(table, admission.OFF)
    return Pooling(table, bags, rows, combiner, norm, finish)


def _norm(max_norm: Any, table: Table) -> tf.Tensor:
    """Return the greatest norm as float32 [1]."""
    try:
        norm = tf.convert_to_tensor(max_norm)
    except (TypeError, ValueError):
        norm = tf.constant("")
    plain = not isinstance(max_norm, float) or max_norm == max_norm
    if not plain or not (norm.dtype.is_floating or norm.dtype.is_integer) or norm.shape.num_elements() not in (1, None):
        raise ValueError(
            f"`max_norm` {max_norm!r} of the table `{table.table_name}` must be None or a real scalar, and no NaN"
        )
    return tf.reshape(tf.cast(norm, tf.float32), [1])


def _pooled(
    one: Pooling, is_train: Any, is_grad: Any, modify_graph: bool | None, settings: dict[str, Any]
) -> tf.Tensor:
    _ids.refuse_expanding([one.table], is_train, is_grad)
    trains = _ids.with_gradient([one.table], is_grad)

    def run(op: Callable[..., tf.Tensor]) -> tf.Tensor:
        pooled = op(
            one.table.handle,
            one.table.variable.tensor(),
            one.bags.keys,
            one.bags.layout,
            one.bags.weights,
            one.rows,
            one.max_norm,
            combiner=one.combiner,
            splits=one.bags.splits,
            weighted=one.bags.weighted,
            **settings,
        )
        _ids.recorded([one.table], pooled)
        return pooled

    if ranks.size() > 1:

        def local(table: Table, keys: tf.Tensor) -> tf.Tensor:
            with _ids.movable([table], modify_graph):
                return sparse_rows(table, keys, is_train)

        (shared,) = shared_pooled([one], local, None, settings)
        return one.finished(shared, trains)
    ops = native.ops()
    with _ids.movable([one.table], modify_graph):
        pooled = _ids.either(is_train, lambda: run(ops.rec_pooled_lookup_or_insert), lambda: run(ops.rec_pooled_lookup))
    return one.finished(pooled, trains)


def shared_pooled(
    lookups: Sequence[Pooling],
    local: Callable[[Table, tf.Tensor], tf.Tensor] | None,
    together: Together | None,
    settings: dict[str, Any],
) -> list[tf.Tensor]:
    """Return [rows, dim] of each lookup of tables that several ranks share, from one exchange.

    The rows that lie in this process come from `local`, or of all at once from `together`.
    """
    waiting = [
        pooling.pooled(**pooling.arguments(one.bags, one.max_norm), rows=one.rows, combiner=one.combiner, **settings)
        for one in lookups
    ]
    requests = [
        Request(
            own.asked,
            one.table.placement,
            None if local is None else functools.partial(local, one.table),
            dim=one.table.dim,
            name=one.table.table_name,
            averages=one.table.arguments.averages,
            bags=own.bags,
            handles=handles_of([one.table]),
        )
        for one, own in zip(lookups, waiting, strict=True)
    ]
    rows = rows_of_all(requests, together)
    return [own.combine(found) for own, found in zip(waiting, rows, strict=True)]
