"""Pooled lookups as ops, for one or many tables; with several ranks, as an exchange.

The public functions are built on these, and so are the lookups of counted tables, which the public functions call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from runtime import native, ranks
from runtime.lookup import id_checks
from runtime.lookup.grouped import grouped_rows
from runtime.lookup.pooled_requests import Pooling, plain, safe
from runtime.lookup.sparse import sparse_rows
from runtime.ranks import pooling
from runtime.ranks.fused_exchange import Request, handles_of, post, require_exchanged, rows_of_all
from runtime.ranks.posted import ExchangedIds
from runtime.table.clusters.served import served_rows
from runtime.table.table import Table

#: The scopes of lookups without a name, after the table's.
_SCOPES = {plain: "embedding_lookup_sparse", safe: "embedding_lookup"}


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
