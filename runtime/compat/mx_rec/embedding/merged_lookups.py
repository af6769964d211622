"""Merges the lookups of a table that counts ids, so that each id of a batch is counted and admitted once for all.

When the first lookup is built, the others are not known. So each returns a placeholder for its rows until an optimizer
computes gradients or `do_merge_lookup` is called; then a single lookup is built, and its rows replace the placeholders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private
from runtime.compat.mx_rec.embedding.invalid_ids import rows_of
from runtime.compat.mx_rec.embedding.pending_lookups import Standing


def stand_for(table: Any, ids: tf.Tensor, config: dict[str, Any], default: Any, is_grad: bool) -> Standing:
    """Return a lookup whose rows are available once `merge` is called; before, running them fails."""
    shape = ids.shape.concatenate([table.dim])
    unmerged = tf.compat.v1.placeholder(tf.float32, shape, name="lookups_are_not_merged")
    return Standing(table, ids, config, default, is_grad, tf.identity(unmerged, name="mock_lookup_result"))


def merge(standing: list[Standing], timed: Callable[[dict[str, Any], Sequence[tf.Tensor]], Any]) -> None:
    """Build one lookup for each table, and let its rows replace the placeholders.

    `timed` adds the time of the batch with these ids to thresholds.

    Raises:
        ValueError: the lookups of a table have different thresholds, or it has eviction but there is no timestamp.
    """
    by_table: dict[int, list[Standing]] = {}
    for lookup in standing:
        by_table.setdefault(id(lookup.table), []).append(lookup)
    for together in by_table.values():
        table, config = together[0].table, together[0].config
        for lookup in together:
            if lookup.config != config:
                raise ValueError(
                    f"the lookups of the table `{table.table_name}` have different thresholds, {config} and "
                    f"{lookup.config}: give all of them the same access_and_evict_config"
                )
        with tf.control_dependencies(None), tf.name_scope(f"{table.table_name}//merged/"):
            flat = [tf.reshape(tf.cast(one.ids, tf.int64), [-1]) for one in together]
            rows = rows_of(
                table,
                flat[0] if len(flat) == 1 else tf.concat(flat, 0),
                name="rows",
                modify_graph=True,
                access_and_evict_config=timed(config, [one.ids for one in together]),
                is_grad=any(one.is_grad for one in together),
                serving_default_value=_defaults(together, flat),
            )
            parts = [rows] if len(flat) == 1 else tf.split(rows, [tf.size(ids) for ids in flat])
            for lookup, part in zip(together, parts, strict=True):
                shaped = tf.reshape(part, tf.concat([tf.shape(lookup.ids), [table.dim]], 0))
                shaped.set_shape(lookup.rows.shape)
                _tf_private.update_input(lookup.rows.op, 0, shaped)


def _defaults(together: list[Standing], flat: list[tf.Tensor]) -> tf.Tensor | None:
    """Return the default rows for ids without a row, [n, dim]; None for zeros."""
    if all(one.default is None for one in together):
        return None
    dim = together[0].table.dim
    zero = tf.zeros([], tf.float32)
    return tf.concat(
        [
            tf.broadcast_to(zero if one.default is None else one.default, [tf.size(ids), dim])
            for one, ids in zip(together, flat, strict=True)
        ],
        0,
    )
