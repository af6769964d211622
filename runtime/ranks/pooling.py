"""Pooled lookups of tables that ranks share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime.ranks import shared


def pooled(
    keys: tf.Tensor,
    bags: tf.Tensor,
    weights: tf.Tensor | None,
    rows: tf.Tensor,
    combiner: str,
    max_norm: tf.Tensor | None,
    placement: str,
    local: Callable[[tf.Tensor], tf.Tensor],
    *,
    prune: bool = False,
    negative_keys: bool = False,
    fill_empty: bool = False,
    default_id: int = 0,
) -> tf.Tensor:
    """Return [rows, dim]: the combined rows of the keys of each bag, as the native pooled lookup gives them.

    Args:
        keys: [n], those of a bag beside each other.
        bags: int64 [n], ascending, the number of each key's bag.
        weights: float32 [n], or None for ones.
        rows: int64, how many bags there are; below 0 as many as the last key needs.
        combiner: "mean", "sqrtn" or "sum".
        max_norm: float32 scalar, or None.
        placement: where the rows of the table lie.
        local: gives the rows of keys that lie in this process.
        prune: leave negative keys out, and unless summing weights that are not above 0.
        negative_keys: whether negative keys are keys like others, where they are not left out.
        fill_empty: whether an empty bag gets the row of `default_id` instead of zeros.
        default_id: see there.
    """
    rows = tf.where(rows < 0, _after_last(bags), rows)
    if prune:
        kept = keys >= 0
        if weights is not None and combiner != "sum":
            kept &= weights > 0
        keys, bags = tf.boolean_mask(keys, kept), tf.boolean_mask(bags, kept)
        weights = None if weights is None else tf.boolean_mask(weights, kept)
    elif not negative_keys:
        message = "a pooled lookup has a negative id: use safe_embedding_lookup_sparse, or negative_keys=True"
        with tf.control_dependencies([tf.debugging.assert_non_negative(keys, message=message)]):
            keys = tf.identity(keys)
    asked = tf.concat([keys, tf.constant([default_id], keys.dtype)], 0) if fill_empty else keys
    found = shared.rows_of(asked, placement, local)
    vectors = found[: tf.size(keys)] if fill_empty else found
    if max_norm is not None:
        vectors = tf.clip_by_norm(vectors, max_norm, axes=[1])
    sums = _combined(vectors, bags, weights, rows, combiner)
    if not fill_empty:
        return sums
    filled = tf.math.unsorted_segment_sum(tf.ones_like(keys, tf.int32), bags, rows) > 0
    default = found[-1:] if max_norm is None else tf.clip_by_norm(found[-1:], max_norm, axes=[1])
    return tf.where(filled[:, None], sums, default)


def _combined(
    vectors: tf.Tensor, bags: tf.Tensor, weights: tf.Tensor | None, rows: tf.Tensor, combiner: str
) -> tf.Tensor:
    weighted = vectors if weights is None else vectors * weights[:, None]
    sums = tf.math.unsorted_segment_sum(weighted, bags, rows)
    if combiner == "sum":
        return sums
    ones = tf.ones(tf.shape(bags)[:1]) if weights is None else weights
    by = tf.math.unsorted_segment_sum(ones if combiner == "mean" else ones**2, bags, rows)[:, None]
    # An empty bag is zeros; one whose weights sum to zero is what stock TensorFlow makes of it, a division by zero.
    empty = tf.math.unsorted_segment_sum(tf.ones_like(ones), bags, rows)[:, None] == 0
    by = tf.where(empty, 1.0, by if combiner == "mean" else tf.sqrt(by))
    return sums / by


def _after_last(bags: tf.Tensor) -> tf.Tensor:
    return tf.reduce_max(tf.concat([bags, tf.constant([-1], tf.int64)], 0)) + 1


def bags_of(layout: tf.Tensor, splits: bool) -> tf.Tensor:
    """Return the bag of each key from row splits, the indices [n, 2] of a SparseTensor, or numbers [n]."""
    if splits:
        return tf.repeat(tf.range(tf.size(layout, tf.int64) - 1), layout[1:] - layout[:-1])
    return layout if layout.shape.rank == 1 else layout[:, 0]


def arguments(bags: Any, max_norm: tf.Tensor) -> dict[str, Any]:
    """Return what `pooled` takes for the ids of a checked pooled lookup."""
    return {
        "keys": bags.keys,
        "bags": bags_of(bags.layout, bags.splits),
        "weights": bags.weights if bags.weighted else None,
        "max_norm": max_norm[0] if max_norm.shape[0] else None,
    }
