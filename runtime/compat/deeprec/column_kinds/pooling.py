"""Pools the rows of a column's ids with stock ops, for columns whose rows no single lookup gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf


def pooled(rows: Callable[[tf.Tensor], tf.Tensor], ids: tf.SparseTensor, weights: Any, column: Any) -> tf.Tensor:
    """Return the combined rows of each row of ids, float32 [batch, width]; as in the stock column, others are zero.

    `rows` takes a mask [n] of the ids that count, and returns their rows.
    """
    factors = tf.ones_like(ids.values, tf.float32) if weights is None else tf.cast(weights.values, tf.float32)
    valid = ids.values >= 0
    if column.combiner != "sum":
        valid &= factors > 0
    places, factors = (tf.boolean_mask(one, valid) for one in (ids.indices[:, 0], factors))
    vectors = rows(valid)
    if column.max_norm is not None:
        vectors = tf.clip_by_norm(vectors, column.max_norm, axes=[1])

    def total(values: tf.Tensor) -> tf.Tensor:
        return tf.math.unsorted_segment_sum(values, places, ids.dense_shape[0])

    sums = total(vectors * factors[:, None])
    if column.combiner == "sum":
        return sums
    share = total(factors) if column.combiner == "mean" else tf.sqrt(total(factors * factors))
    return tf.math.divide_no_nan(sums, share[:, None])
