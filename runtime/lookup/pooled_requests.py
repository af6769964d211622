"""One pooled lookup as data, with its arguments checked like those of `tf.nn.embedding_lookup_sparse`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.lookup import id_checks
from runtime.policy import admission
from runtime.table.admission_rules import OFF
from runtime.table.table import Table

_COMBINERS = ("mean", "sqrtn", "sum")


@dataclass(frozen=True)
class _Bags:
    """Ids [n], weights [n] or [0], and the layout of the bags: row splits, or the indices of a SparseTensor."""

    keys: tf.Tensor
    weights: tf.Tensor
    weighted: bool
    layout: tf.Tensor
    splits: bool


@dataclass(frozen=True)
class Pooling:
    """A checked pooled lookup: the inputs of its op, and what is done with the op's output [rows, dim]."""

    table: Table
    bags: _Bags
    rows: tf.Tensor
    combiner: str
    max_norm: tf.Tensor
    finish: Callable[[tf.Tensor], tf.Tensor]

    def finished(self, pooled: tf.Tensor, trains: bool) -> tf.Tensor:
        """Return the result for the caller, given the op's output."""
        pooled.set_shape([None, self.table.dim])
        with tf.device(pooled.device):
            return self.finish(pooled if trains else tf.stop_gradient(pooled))


def plain(table: Table, ids: Any, weights: Any, combiner: str | None, max_norm: Any) -> Pooling:
    """Check the arguments of an `embedding_lookup_sparse`; raises as it does."""
    rows = tf.constant(-1, tf.int64)
    return _pooling(table, _bags(ids, weights, table), rows, combiner, max_norm, lambda pooled: pooled)


def safe_settings(default_id: int | None) -> dict[str, Any]:
    """Return the attributes of a `safe_embedding_lookup_sparse`."""
    default = _validation.integer("default_id", default_id or 0, 0, 2**63 - 1)
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


def with_every_row(pooling: Pooling, ids: tf.SparseTensor | tf.RaggedTensor) -> Pooling:
    """Return the lookup with as many rows as its ids have, including rows without an id at the end."""
    return dataclasses.replace(pooling, rows=rows_of(ids))


def rows_of(ids: tf.SparseTensor | tf.RaggedTensor) -> tf.Tensor:
    """Return the number of rows of the ids, int64."""
    return ids.nrows(out_type=tf.int64) if isinstance(ids, tf.RaggedTensor) else tf.cast(ids.dense_shape[0], tf.int64)


def _shaped(pooled: tf.Tensor, shape: tf.TensorShape) -> tf.Tensor:
    pooled.set_shape(shape)
    return pooled


def _linear(bags: _Bags, leading: tf.Tensor) -> _Bags:
    """Number the rows of ids with another rank than 2 in row-major order."""
    strides = tf.math.cumprod(leading, exclusive=True, reverse=True)
    numbers = tf.reduce_sum(bags.layout[:, :-1] * strides, axis=1)
    return _Bags(bags.keys, bags.weights, bags.weighted, numbers, bags.splits)


def _bags(ids: Any, weights: Any, table: Table) -> _Bags:
    kind = tf.RaggedTensor if isinstance(ids, tf.RaggedTensor) else tf.SparseTensor
    if not isinstance(ids, kind):
        raise TypeError(
            f"the ids of the table `{table.table_name}` are {type(ids).__name__}: a pooled lookup needs a SparseTensor "
            "or a RaggedTensor; use sparse_lookup for dense ids"
        )
    if weights is not None and not isinstance(weights, kind):
        raise TypeError(
            f"the weights for the table `{table.table_name}` are {type(weights).__name__}: they must be None or a "
            f"{kind.__name__}, like the ids"
        )
    ragged = kind is tf.RaggedTensor
    if ragged and (ids.ragged_rank != 1 or ids.flat_values.shape.rank not in (1, None)):
        raise ValueError(
            f"the ids of the table `{table.table_name}` are ragged of shape {ids.shape}: they must be of rank 2, one "
            "ragged row per example"
        )
    keys = id_checks.integers(ids.values, f"the table `{table.table_name}`")
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
    admission.agree(table, OFF)
    return Pooling(table, bags, rows, combiner, norm, finish)


def _norm(max_norm: Any, table: Table) -> tf.Tensor:
    """Return the maximum norm as float32 [1]."""
    try:
        norm = tf.convert_to_tensor(max_norm)
    except (TypeError, ValueError):
        norm = tf.constant("")
    plain = not isinstance(max_norm, float) or max_norm == max_norm
    if not plain or not (norm.dtype.is_floating or norm.dtype.is_integer) or norm.shape.num_elements() not in (1, None):
        raise ValueError(
            f"`max_norm` {max_norm!r} of the table `{table.table_name}` must be None or a real scalar, not NaN"
        )
    return tf.reshape(tf.cast(norm, tf.float32), [1])
