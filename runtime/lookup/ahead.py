"""`exchange_ids` and its like: ranks exchange the ids of the next batch while they train on this one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private, _validation
from runtime.lookup import id_checks
from runtime.lookup.grouped import requests_of
from runtime.lookup.grouped_pooled import plain_check
from runtime.lookup.grouped_pooled import requests_of as pooled_requests_of
from runtime.lookup.pooled_ops import Pooling, posted, safe, safe_settings
from runtime.policy import admission
from runtime.ranks.fused_exchange import post
from runtime.ranks.posted import ExchangedIds
from runtime.table.admission_rules import OFF
from runtime.table.table import Table

__all__ = ["ExchangedIds", "exchange_ids", "exchange_safe_sparse_ids", "exchange_sparse_ids"]


@_tf_private.as_written
def exchange_ids(tables_and_ids: Sequence[tuple[Table, Any]]) -> ExchangedIds:
    """Exchange ids between ranks ahead of `grouped_lookup(tables_and_ids, exchanged=...)`, perhaps in a later step.

    No row is read, inserted or changed. All ranks must call it in the same order. In a step, other exchanges need not
    wait for it. With one process there is nothing to exchange, and the same program works.

    Args:
        tables_and_ids: pairs of a table of `create_table` and int32 or int64 ids of any shape.

    Raises:
        ValueError: there is no pair, a table counts its keys, or ids are no integers.
    """
    pairs = _validation.pairs("tables_and_ids", tables_and_ids, "pairs (table, ids)")
    members = [id_checks.require_table(table, "table") for table, _ in pairs]
    if not members:
        raise ValueError("there is nothing to exchange: give exchange_ids at least one pair (table, ids)")
    for table in members:
        if table.reads_each_step:
            _refuse_counted(table)
        admission.agree(table, OFF)
    with tf.name_scope("exchange_ids"), tf.device("/device:CPU:0"):
        return post(requests_of(members, [_flat(ids) for _, ids in pairs]))


@_tf_private.as_written
def exchange_sparse_ids(
    lookups: Sequence[Sequence[Any]],
    combiner: str | Sequence[str | None] | None = None,
    max_norm: Any = None,
    *,
    negative_keys: bool = False,
    every_row: bool = False,
) -> ExchangedIds:
    """Exchange ids ahead of `grouped_embedding_lookup_sparse(lookups, ..., exchanged=...)`, as `exchange_ids` does.

    Give both the same arguments: they decide which ids are looked up, and whether ranks send rows or sums.

    Raises:
        ValueError: as the lookup; also if a table counts its keys.
        TypeError: ids or weights are neither sparse nor ragged.
    """
    settings = {"negative_keys": _validation.boolean("negative_keys", negative_keys)}
    return _exchanged(plain_check(every_row), lookups, combiner, max_norm, settings)


@_tf_private.as_written
def exchange_safe_sparse_ids(
    lookups: Sequence[Sequence[Any]],
    combiner: str | Sequence[str | None] | None = "mean",
    default_id: int | None = None,
    max_norm: Any = None,
) -> ExchangedIds:
    """Exchange ids ahead of `grouped_safe_embedding_lookup_sparse(lookups, ..., exchanged=...)`.

    See `exchange_sparse_ids`.

    Raises:
        ValueError: as the lookup; also if a table counts its keys.
        TypeError: ids or weights are neither sparse nor ragged.
    """
    return _exchanged(safe, lookups, combiner, max_norm, safe_settings(default_id))


def _exchanged(
    check: Callable[..., Pooling], lookups: Any, combiner: Any, max_norm: Any, settings: dict[str, Any]
) -> ExchangedIds:
    with tf.name_scope("exchange_ids"), tf.device("/device:CPU:0"):
        return posted(pooled_requests_of(check, _refuse_counted, lookups, combiner, max_norm), settings)


def _refuse_counted(table: Table, *_: Any) -> Any:
    raise ValueError(
        f"the table `{table.table_name}` counts how often it sees each id, which an exchange of ids before the step "
        "would leave out: look its ids up without exchanging them first"
    )


def _flat(ids: Any) -> Any:
    return ids.flat_values if isinstance(ids, tf.RaggedTensor) else ids
