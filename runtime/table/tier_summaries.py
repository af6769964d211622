"""Scalar summaries of a table's storage tiers, for TensorBoard."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.storage.tiers import KINDS, MEDIA
from runtime.table.table import Table

_ROWS, _FOUND, _MEDIUM_BYTES, _MEMORY_BYTES, _COMPACTIONS = 2, 3, 4, 5, 8


def tier_summaries(table: Table, step: Any = None) -> tf.Tensor | None:
    """Write `<table>/tiers/<medium>/…` scalars: rows, hit_rate, memory_bytes, medium_bytes and compactions.

    The hit rate is the share of all rows found since the table was created or restored. In a v1 graph, return the
    merged summary, which is also added to the graph's summaries; elsewhere, write to the default summary writer at
    `step`, like `tf.summary.scalar`, and return None.

    Raises:
        ValueError: it is not a table, or has no tiers below memory.
    """
    _validation.kind("table", table, Table, "a table created by create_table")
    if not table.tiered:
        raise ValueError(
            f"the table `{table.table_name}` has one tier: give create_table a `storage` with tiers below memory"
        )
    merged = []
    for tag, value in tier_scalars(table).items():
        if table.graph is None:
            tf.summary.scalar(tag, value, step)
        else:
            with tf.name_scope(""):
                merged.append(tf.compat.v1.summary.scalar(tag, value))
    return tf.compat.v1.summary.merge(merged) if merged else None


def tier_scalars(table: Table) -> dict[str, tf.Tensor]:
    """Return the values of a table's tiers by their tags, float64 scalars; none of a table with one tier."""
    storage, scalars = table.arguments.storage, dict[str, tf.Tensor]()
    if storage is None or not table.tiered:
        return scalars
    status = tf.cast(table.tier_status(), tf.float64)
    present = tf.maximum(tf.reduce_sum(status[:, _FOUND]), 1.0)
    for number, medium in enumerate(KINDS[storage.kind]):
        values = {
            "rows": status[number, _ROWS],
            "hit_rate": status[number, _FOUND] / present,
            "memory_bytes": status[number, _MEMORY_BYTES],
        }
        if medium != MEDIA[0]:
            values |= {"medium_bytes": status[number, _MEDIUM_BYTES], "compactions": status[number, _COMPACTIONS]}
        scalars |= {f"{table.table_name}/tiers/{medium}/{name}": value for name, value in values.items()}
    return scalars
