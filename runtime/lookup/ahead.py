"""`exchange_ids`: ranks exchange the ids of the next batch while they train on this one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private, _validation
from runtime.lookup import id_checks
from runtime.lookup.grouped import requests_of
from runtime.policy import admission
from runtime.ranks.fused_exchange import post
from runtime.ranks.posted import ExchangedIds
from runtime.table.admission_rules import OFF
from runtime.table.table import Table

__all__ = ["ExchangedIds", "exchange_ids"]


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
            raise ValueError(f"ids of the counted table `{table.table_name}` are not exchanged ahead: look it up")
        admission.agree(table, OFF)
    with tf.name_scope("exchange_ids"), tf.device("/device:CPU:0"):
        return post(requests_of(members, [_flat(ids) for _, ids in pairs]))


def _flat(ids: Any) -> Any:
    return ids.flat_values if isinstance(ids, tf.RaggedTensor) else ids
