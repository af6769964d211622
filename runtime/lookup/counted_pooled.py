"""Pooled lookups of counted tables, with the results of `tf.nn.embedding_lookup_sparse` and its safe form.

If keys are counted or the variable is partitioned, every id has its own row and gradient, so that an update sees each
occurrence; otherwise the fused lookup does all the work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private, ranks
from runtime.embedding_variable.counted_table import CountedTable
from runtime.lookup import pooled_ops
from runtime.lookup.counted import lookup_all, with_int_keys
from runtime.lookup.pooled_ops import Pooling, plain, safe, safe_settings, with_every_row
from runtime.ranks.messages import Bags
from runtime.ranks.pooling import Pooled, divided


@_tf_private.as_written
def lookup_sparse(
    tables: Sequence[CountedTable],
    ids: Any,
    weights: Any,
    combiner: str | None,
    max_norm: Any = None,
    name: str | None = None,
) -> tf.Tensor:
    """Like `runtime.embedding_lookup_sparse`, but read-only, and negative ids are keys."""
    table, ids = tables[0], with_int_keys(ids)
    if len(tables) == 1 and _fuses(table):
        arguments = (table, ids, weights, combiner, max_norm)
        return pooled_ops.pooled(plain, arguments, {"negative_keys": True}, name, False)
    with tf.name_scope(name or "embedding_lookup_sparse"), tf.device("/device:CPU:0"):
        return _combined(tables, plain(table, ids, weights, combiner, max_norm), None, None)


@_tf_private.as_written
def safe_lookup_sparse(
    tables: Sequence[CountedTable],
    ids: Any,
    weights: Any,
    combiner: str | None,
    default_id: int | None = None,
    max_norm: Any = None,
    name: str | None = None,
) -> tf.Tensor:
    """Like `runtime.safe_embedding_lookup_sparse`, but read-only."""
    table, ids, settings = tables[0], with_int_keys(ids), safe_settings(default_id)
    if len(tables) == 1 and _fuses(table):
        return pooled_ops.pooled(safe, (table, ids, weights, combiner, max_norm), settings, name, False)
    with tf.name_scope(name or "safe_embedding_lookup_sparse"), tf.device("/device:CPU:0"):
        pooling = safe(table, ids, weights, combiner, max_norm)
        return _combined(tables, pooling, pooling.rows, settings["default_id"] if settings["fill_empty"] else None)


@_tf_private.as_written
def lookup_sparse_all(
    lookups: Sequence[tuple[Sequence[CountedTable], Any, Any, str | None]], name: str | None = None
) -> list[tf.Tensor]:
    """Return the result of `lookup_sparse` for each (tables, ids, weights, combiner), with one row for each row of ids.

    Tables that count nothing are looked up in one op; with several ranks, all are in one exchange.
    """
    with tf.name_scope(name or "embedding_lookup_sparse"), tf.device("/device:CPU:0"):
        checked = []
        for tables, ids, weights, combiner in lookups:
            ids = with_int_keys(ids)
            checked.append((tables, with_every_row(plain(tables[0], ids, weights, combiner, None), ids)))
        fused = [ranks.size() == 1 and len(tables) == 1 and _fuses(tables[0]) for tables, _ in checked]
        together = [one for (_, one), own in zip(checked, fused, strict=True) if own]
        apart = [(tables, one) for (tables, one), own in zip(checked, fused, strict=True) if not own]
        results = iter(pooled_ops.looked_up(together, False, True, False, {"negative_keys": True}) if together else [])
        others = iter(_all_combined([(tables, one, one.rows, False, None) for tables, one in apart]))
        return [next(results if own else others) for own in fused]


#: A lookup: tables, pooling, number of rows (None: up to the last row with an id), whether to prune ids as the safe
#: form does, and the id whose row stands for an empty one.
_Lookup = tuple[Sequence[CountedTable], Pooling, tf.Tensor | None, bool, int | None]


def _combined(
    tables: Sequence[CountedTable], pooling: Pooling, rows: tf.Tensor | None, default_id: int | None
) -> tf.Tensor:
    """Look up all ids and combine them; with `rows` this is the safe form."""
    return _all_combined([(tables, pooling, rows, rows is not None, default_id)])[0]


def _all_combined(lookups: Sequence[_Lookup]) -> list[tf.Tensor]:
    """Look up the ids of all lookups together, and combine the rows of each."""
    waiting = [_waiting(*one) for one in lookups]
    pairs = [(tables, own.asked) for (tables, *_), own in zip(lookups, waiting, strict=True)]
    results = lookup_all(pairs, [own.bags for own in waiting])
    return [pooled_ops.combined(own, rows) for own, rows in zip(waiting, results, strict=True)]


def _fuses(table: CountedTable) -> bool:
    """Whether the fused lookup, which reads rows on the host, does all the work."""
    return table.rules.fuses and table.on_device is None and not table.parts


def _waiting(
    tables: Sequence[CountedTable], pooling: Pooling, rows: tf.Tensor | None, prune: bool, default_id: int | None
) -> Pooled:
    """Return the ids [n] to look up, and a function that combines their rows, or their sums over ranks."""
    bags = pooling.bags
    keys, segments = tf.cast(bags.keys, tf.int64), _segments(bags)
    weights = bags.weights if bags.weighted else None
    if prune:
        kept = keys >= 0
        if weights is not None and pooling.combiner != "sum":
            kept &= weights > 0
        keys, segments = tf.boolean_mask(keys, kept), tf.boolean_mask(segments, kept)
        weights = None if weights is None else tf.boolean_mask(weights, kept)
    count = tf.reduce_max(tf.concat([segments, [-1]], 0)) + 1 if rows is None else rows
    ids, numbers = tf.size(keys), segments
    if default_id is not None:
        used = tf.math.unsorted_segment_sum(tf.ones_like(segments), segments, count)
        empty = tf.where(tf.equal(used, 0))
        keys = tf.concat([keys, tf.fill([tf.shape(empty)[0]], tf.constant(default_id, tf.int64))], 0)
        numbers = tf.concat([segments, empty[:, 0]], 0)
    # A single process pools with stock TensorFlow ops, for bit-equal results.
    by_ranks = ranks.size() > 1 and weights is None and pooling.max_norm.shape.num_elements() == 0

    def combine(rows_of_ids: tf.Tensor) -> tf.Tensor:
        if by_ranks:
            result = divided(rows_of_ids, numbers, None, pooling.combiner)
        else:
            rows_of_ids = _clipped(rows_of_ids, pooling.max_norm)
            result = _sums(
                rows_of_ids if default_id is None else rows_of_ids[:ids], segments, weights, pooling.combiner, count
            )
            if default_id is not None:
                result = tf.tensor_scatter_nd_add(result, empty, rows_of_ids[ids:])
        result.set_shape([None, tables[0].dim])
        return pooling.finish(result)

    return Pooled(keys, Bags(numbers, count) if by_ranks else None, combine)


def _segments(bags: Any) -> tf.Tensor:
    """Return the row of each id."""
    if bags.splits:
        return tf.ragged.row_splits_to_segment_ids(bags.layout, out_type=tf.int64)
    return bags.layout[:, 0] if bags.layout.shape.rank == 2 else bags.layout


def _clipped(rows: tf.Tensor, max_norm: tf.Tensor) -> tf.Tensor:
    if max_norm.shape.num_elements() == 0:
        return rows
    return tf.clip_by_norm(rows, tf.reshape(max_norm, []), axes=[1])


def _sums(
    rows: tf.Tensor, segments: tf.Tensor, weights: tf.Tensor | None, combiner: str, count: tf.Tensor
) -> tf.Tensor:
    """Combine with TensorFlow's own ops; rows without an id are zero."""
    if weights is None:
        combine = {"sum": tf.sparse.segment_sum, "mean": tf.sparse.segment_mean, "sqrtn": tf.sparse.segment_sqrt_n}
        return combine[combiner](rows, tf.range(tf.size(segments)), segments, num_segments=tf.cast(count, tf.int32))
    summed = tf.math.unsorted_segment_sum(rows * weights[:, None], segments, count)
    if combiner == "sum":
        return summed
    squared = weights if combiner == "mean" else tf.square(weights)
    by = tf.math.unsorted_segment_sum(squared, segments, count)
    return tf.math.divide_no_nan(summed, (by if combiner == "mean" else tf.sqrt(by))[:, None])
