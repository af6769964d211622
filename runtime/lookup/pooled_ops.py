"""Pooled lookups as ops, for one or many tables; with several ranks, as an exchange.

One lookup is data, with its arguments checked like those of `tf.nn.embedding_lookup_sparse`. The public functions are
built on these, and so are the lookups of counted tables, which the public functions call.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from runtime import _validation, native, ranks
from runtime.lookup import id_checks
from runtime.lookup.grouped import grouped_rows
from runtime.lookup.sparse import sparse_rows
from runtime.policy import admission
from runtime.ranks import pooling
from runtime.ranks.fused_exchange import Request, handles_of, post, require_exchanged, rows_of_all
from runtime.ranks.posted import ExchangedIds
from runtime.table.admission_rules import OFF
from runtime.table.clusters.served import served_rows
from runtime.table.table import Table


def looked_up(
    requests: Sequence[Pooling],
    is_train: Any,
    is_grad: bool,
    modify_graph: bool | None,
    settings: dict[str, Any],
    exchanged: ExchangedIds | None = None,
) -> list[tf.Tensor]:
    """Return the result of each lookup, from a single op, and with several ranks from a single exchange.

    `exchanged` is what `posted` returned for the same lookups, if ranks have exchanged the ids already.
    """
    members = [one.table for one in requests]
    bags = [one.bags for one in requests]
    id_checks.refuse_expanding(members, is_train, is_grad)
    trains = id_checks.with_gradient(members, is_grad)

    if ranks.size() > 1 or any(table.on_device is not None or table.parts for table in members):

        def together(tables: Sequence[Table], keys: list[tf.Tensor]) -> list[tf.Tensor]:
            with id_checks.movable(tables, modify_graph):
                return grouped_rows(tables, keys, is_train)

        outputs = shared_pooled(requests, together, settings, exchanged)
        return [one.finished(own, trains) for one, own in zip(requests, outputs, strict=True)]

    def run(op: Callable[..., list[tf.Tensor]]) -> list[tf.Tensor]:
        anchors = {table: table.variable.tensor() for table in members}
        outputs = op(
            [table.handle for table in members],
            [anchors[table] for table in members],
            [tf.cast(bag.keys, tf.int64) for bag in bags],
            [bag.layout for bag in bags],
            [bag.weights for bag in bags],
            [one.rows for one in requests],
            [one.max_norm for one in requests],
            combiners=[one.combiner for one in requests],
            splits=[bag.splits for bag in bags],
            weighted=[bag.weighted for bag in bags],
            **settings,
        )
        id_checks.recorded(anchors, outputs[0])
        return outputs

    ops = native.ops()
    same = [] if exchanged is None else require_exchanged(_requests(requests, _waiting(requests, settings)), exchanged)
    with id_checks.movable(members, modify_graph), tf.control_dependencies(same):
        outputs = id_checks.either(
            is_train,
            lambda: run(ops.rec_pooled_lookup_or_insert_group),
            lambda: run(ops.rec_pooled_lookup_group),
        )
    return [one.finished(output, trains) for one, output in zip(requests, outputs, strict=True)]


def pooled(
    check: Callable[..., Pooling],
    bags: tuple[Table, Any, Any, str | None, Any],
    settings: dict[str, Any],
    name: str | None,
    is_train: Any,
    is_grad: Any = True,
    modify_graph: bool | None = False,
) -> tf.Tensor:
    """Return the result of a lookup, from one op for any kind of table.

    `check` is `plain` or `safe`, and `bags` the table, ids, weights, combiner and norm.
    """
    scope = name or f"{bags[0].table_name}_{_SCOPES[check]}"
    with tf.name_scope(scope), tf.device("/device:CPU:0"):
        return _pooled(check(*bags), is_train, is_grad, modify_graph, settings)


def _pooled(
    pooling: Pooling, is_train: Any, is_grad: Any, modify_graph: bool | None, settings: dict[str, Any]
) -> tf.Tensor:
    id_checks.refuse_expanding([pooling.table], is_train, is_grad)
    trains = id_checks.with_gradient([pooling.table], is_grad)

    def run(op: Callable[..., tf.Tensor]) -> tf.Tensor:
        pooled = op(
            pooling.table.handle,
            pooling.table.variable.tensor(),
            pooling.bags.keys,
            pooling.bags.layout,
            pooling.bags.weights,
            pooling.rows,
            pooling.max_norm,
            combiner=pooling.combiner,
            splits=pooling.bags.splits,
            weighted=pooling.bags.weighted,
            **settings,
        )
        id_checks.recorded([pooling.table], pooled)
        return pooled

    if ranks.size() > 1 or pooling.table.on_device is not None or pooling.table.parts:

        def each(tables: Sequence[Table], keys: list[tf.Tensor]) -> list[tf.Tensor]:
            with id_checks.movable(tables, modify_graph):
                return [sparse_rows(table, own, is_train) for table, own in zip(tables, keys, strict=True)]

        (shared,) = shared_pooled([pooling], each, settings)
        return pooling.finished(shared, trains)
    ops = native.ops()
    with id_checks.movable([pooling.table], modify_graph):
        pooled = id_checks.either(
            is_train, lambda: run(ops.rec_pooled_lookup_or_insert), lambda: run(ops.rec_pooled_lookup)
        )
    return pooling.finished(pooled, trains)


def shared_pooled(
    lookups: Sequence[Pooling],
    together: Callable[[Sequence[Table], list[tf.Tensor]], list[tf.Tensor]],
    settings: dict[str, Any],
    exchanged: ExchangedIds | None = None,
) -> list[tf.Tensor]:
    """Return [rows, dim] of each lookup of tables with a device, or that ranks or servers hold: from a single exchange.

    Rows of the keys of each table that lie in one process come from `together`. `exchanged` is what `posted` returned
    for the same lookups.
    """
    waiting, tables = _waiting(lookups, settings), [one.table for one in lookups]
    requests = _requests(lookups, waiting)
    if any(table.parts for table in tables):
        rows = served_rows(tables, requests, together, exchanged)
    else:
        rows = rows_of_all(requests, functools.partial(together, tables), exchanged)
    return [combined(own, found) for own, found in zip(waiting, rows, strict=True)]


def posted(lookups: Sequence[Pooling], settings: dict[str, Any]) -> ExchangedIds:
    """Exchange the ids of lookups ahead of `looked_up`."""
    return post(_requests(lookups, _waiting(lookups, settings)))


def _waiting(lookups: Sequence[Pooling], settings: dict[str, Any]) -> list[pooling.Pooled]:
    return [
        pooling.pooled(**pooling.arguments(one.bags, one.max_norm), rows=one.rows, combiner=one.combiner, **settings)
        for one in lookups
    ]


def _requests(
    lookups: Sequence[Pooling],
    waiting: Sequence[pooling.Pooled],
) -> list[Request]:
    return [
        Request(
            own.asked,
            one.table.placement,
            None,
            dim=one.table.dim,
            name=one.table.table_name,
            averages=one.table.arguments.averages,
            bags=own.bags,
            handles=handles_of([one.table]),
        )
        for one, own in zip(lookups, waiting, strict=True)
    ]


def combined(waiting: pooling.Pooled, rows: tf.Tensor) -> tf.Tensor:
    """Combine rows, or their sums, on the device where they are."""
    with tf.device(rows.device):
        return waiting.combine(rows)


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


#: The scopes of lookups without a name, after the table's.
_SCOPES = {plain: "embedding_lookup_sparse", safe: "embedding_lookup"}
