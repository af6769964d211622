"""`grouped_lookup`: the lookups of many tables in one op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private, _validation, native
from runtime.lookup import id_checks
from runtime.lookup.sparse import dense_keys, sparse_lookup, sparse_rows
from runtime.policy import admission
from runtime.ranks.fused_exchange import Request, handles_of, rows_of_all
from runtime.ranks.posted import ExchangedIds
from runtime.table.admission_rules import OFF
from runtime.table.clusters.served import served_rows
from runtime.table.table import Table


@_tf_private.as_written
def grouped_lookup(
    tables_and_ids: Sequence[tuple[Table, Any]],
    is_train: Any = True,
    is_grad: bool = True,
    name: str | None = None,
    modify_graph: bool | None = False,
    *,
    exchanged: ExchangedIds | None = None,
) -> list[tf.Tensor]:
    """Return for each (table, ids) what `sparse_lookup(table, ids)` returns, from a single op.

    A `tf.function` runs stateful ops one by one, and for a small lookup the op itself costs most; here many lookups run
    at once. A table may occur several times. The other arguments are those of `sparse_lookup` and apply to all pairs.
    Counted tables are looked up one by one, because each occurrence of an id counts in the update. `exchanged` is what
    `exchange_ids` returned for the same pairs, if ranks have exchanged the ids already.

    Raises:
        ValueError: as `sparse_lookup`; also if there is no pair, or a table with dynamic expansion is to be trained.
        tf.errors.InvalidArgumentError: when the op runs, and other ids or tables are given than were exchanged.
    """
    lookups = _validation.pairs("tables_and_ids", tables_and_ids, "pairs (table, ids)")
    pairs = [(id_checks.require_table(table, "hashtable"), ids) for table, ids in lookups]
    if name is not None:
        _validation.text("name", name)
    if not pairs:
        raise ValueError("grouped_lookup has nothing to look up: give it at least one pair (table, ids)")
    if any(table.reads_each_step for table, _ in pairs):
        rest = [(table, ids) for table, ids in pairs if not table.reads_each_step]
        others = iter(grouped_lookup(rest, is_train, is_grad, name, modify_graph) if rest else [])
        return [
            sparse_lookup(table, ids, is_grad=is_grad) if table.reads_each_step else next(others)
            for table, ids in pairs
        ]
    members = [table for table, _ in pairs]
    for table in members:
        admission.agree(table, OFF)
    id_checks.refuse_expanding(members, is_train, is_grad)
    trains = id_checks.with_gradient(members, is_grad)
    scope = tf.name_scope(name or "grouped_lookup")
    with id_checks.movable(members, modify_graph), scope, tf.device("/device:CPU:0"):
        flat = [ids.flat_values if isinstance(ids, tf.RaggedTensor) else ids for _, ids in pairs]
        requests = requests_of(members, flat)
        if any(table.parts for table in members):
            rows = served_rows(members, requests, lambda parts, keys: grouped_rows(parts, keys, is_train), exchanged)
        else:
            rows = rows_of_all(requests, lambda keys: grouped_rows(members, keys, is_train), exchanged)
        for i, (table, ids) in enumerate(pairs):
            id_checks.set_shape(rows[i], requests[i].keys, table.dim)
            with tf.device(rows[i].device):
                rows[i] = rows[i] if trains else tf.stop_gradient(rows[i])
            rows[i] = ids.with_flat_values(rows[i]) if isinstance(ids, tf.RaggedTensor) else rows[i]
        return rows


def requests_of(members: Sequence[Table], ids: Sequence[Any]) -> list[Request]:
    """Return what to ask of all ranks: the rows of ids, each a tensor of integers, of each table."""
    return [
        Request(
            id_checks.wide(dense_keys(own, table)),
            table.placement,
            None,
            dim=table.dim,
            name=table.table_name,
            averages=table.arguments.averages,
            handles=handles_of([table]),
        )
        for table, own in zip(members, ids, strict=True)
    ]


def grouped_rows(members: Sequence[Table], keys: Sequence[tf.Tensor], is_train: Any) -> list[tf.Tensor]:
    """Return the rows of keys, of any shape, of each table that this process holds, from a single op."""
    wide = [id_checks.wide(one) for one in keys]
    if any(table.on_device is not None for table in members):
        return [sparse_rows(table, own, is_train) for table, own in zip(members, wide, strict=True)]

    def run(op: Callable[..., list[tf.Tensor]]) -> list[tf.Tensor]:
        inputs = {table: (table.handle, table.variable.reference(), table.variable.like) for table in members}
        handles, anchors, likes = zip(*(inputs[table] for table in members), strict=True)
        rows = op(list(handles), list(anchors), wide, list(likes))
        id_checks.recorded(inputs, rows[0])
        return [table.variable.trained(own) for table, own in zip(members, rows, strict=True)]

    ops = native.ops()
    return id_checks.either(is_train, lambda: run(ops.rec_lookup_or_insert_group), lambda: run(ops.rec_lookup_group))
