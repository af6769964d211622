"""Pooled look-ups of counted tables, as `tf.nn.embedding_lookup_sparse` and its safe form give them.

Where keys are counted or partitioned, every id has a row and a gradient of its own, so that an update sees each of
them; otherwise the fused look-up does it all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime import _tensorflow, pooled
from runtime.counted import CountedTable, lookup, with_int_keys


@_tensorflow.as_written
def lookup_sparse(
    tables: Sequence[CountedTable],
    ids: Any,
    weights: Any,
    combiner: str | None,
    max_norm: Any = None,
    name: str | None = None,
) -> tf.Tensor:
    """Return what `runtime.embedding_lookup_sparse` does, but leave the tables as they are; negative ids are keys."""
    table, ids = tables[0], with_int_keys(ids)
    if len(tables) == 1 and not table.rules.tracks:
        return pooled.fused(table, ids, weights, combiner, max_norm, name, False, negative_keys=True)
    with tf.name_scope(name or "embedding_lookup_sparse"), tf.device("/device:CPU:0"):
        return _combined(tables, pooled.plain(table, ids, weights, combiner, max_norm), None, None)


@_tensorflow.as_written
def safe_lookup_sparse(
    tables: Sequence[CountedTable],
    ids: Any,
    weights: Any,
    combiner: str | None,
    default_id: int | None = None,
    max_norm: Any = None,
    name: str | None = None,
) -> tf.Tensor:
    """Return what `runtime.safe_embedding_lookup_sparse` does, but leave the tables as they are."""
    table, ids = tables[0], with_int_keys(ids)
    if len(tables) == 1 and not table.rules.tracks:
        return pooled.fused_safe(table, ids, weights, combiner, default_id, max_norm, name, False)
    settings = pooled.safe_settings(default_id)
    with tf.name_scope(name or "safe_embedding_lookup_sparse"), tf.device("/device:CPU:0"):
        one = pooled.safe(table, ids, weights, combiner, max_norm)
        return _combined(tables, one, one.rows, settings["default_id"] if settings["fill_empty"] else None)


def _combined(
    tables: Sequence[CountedTable], one: pooled.Pooling, rows: tf.Tensor | None, default_id: int | None
) -> tf.Tensor:
    """Look every id up and combine; with a number of `rows` it is the safe form."""
    bags = one.bags
    keys, segments = tf.cast(bags.keys, tf.int64), _segments(bags)
    weights = bags.weights if bags.weighted else None
    if rows is not None:
        kept = keys >= 0
        if weights is not None and one.combiner != "sum":
            kept &= weights > 0
        keys, segments = tf.boolean_mask(keys, kept), tf.boolean_mask(segments, kept)
        weights = None if weights is None else tf.boolean_mask(weights, kept)
    count = tf.reduce_max(tf.concat([segments, [-1]], 0)) + 1 if rows is None else rows
    found = _clipped(lookup(tables, keys), one.max_norm)
    result = _sums(found, segments, weights, one.combiner, count)
    if default_id is not None:
        used = tf.math.unsorted_segment_sum(tf.ones_like(segments), segments, count)
        empty = tf.where(tf.equal(used, 0))
        instead = lookup(tables, tf.fill([tf.shape(empty)[0]], tf.constant(default_id, tf.int64)))
        result = tf.tensor_scatter_nd_add(result, empty, _clipped(instead, one.max_norm))
    result.set_shape([None, tables[0].dim])
    return one.finish(result)


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
    """Combine as TensorFlow does, with its ops; rows without an id are zeros."""
    if weights is None:
        combine = {"sum": tf.sparse.segment_sum, "mean": tf.sparse.segment_mean, "sqrtn": tf.sparse.segment_sqrt_n}
        return combine[combiner](rows, tf.range(tf.size(segments)), segments, num_segments=tf.cast(count, tf.int32))
    summed = tf.math.unsorted_segment_sum(rows * weights[:, None], segments, count)
    if combiner == "sum":
        return summed
    squared = weights if combiner == "mean" else tf.square(weights)
    by = tf.math.unsorted_segment_sum(squared, segments, count)
    return tf.math.divide_no_nan(summed, (by if combiner == "mean" else tf.sqrt(by))[:, None])
