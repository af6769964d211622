"""Pooled lookups of tables that ranks share: the ids they request, and how they combine the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from runtime.ranks.messages import Bags


@dataclass(frozen=True)
class Pooled:
    """A pooled lookup with known ids, before its rows are looked up.

    Attributes:
        asked: the ids to look up, [n].
        bags: bags to receive sums for instead of rows; None if ids have weights or rows are clipped.
        combine: returns [bags, dim], the combined rows of each bag, given the rows of `asked` [n, dim], or the sums.
    """

    asked: tf.Tensor
    bags: Bags | None
    combine: Callable[[tf.Tensor], tf.Tensor]


def pooled(
    keys: tf.Tensor,
    bags: tf.Tensor,
    weights: tf.Tensor | None,
    rows: tf.Tensor,
    combiner: str,
    max_norm: tf.Tensor | None,
    *,
    prune: bool = False,
    negative_keys: bool = False,
    fill_empty: bool = False,
    default_id: int = 0,
) -> Pooled:
    """Return the ids to look up and how to combine their rows; the results are those of the native pooled lookup.

    Args:
        keys: [n], grouped by bag.
        bags: int64 [n], ascending, the bag number of each key.
        weights: float32 [n], or None for ones.
        rows: int64, the number of bags; if negative, as many as the last key needs.
        combiner: "mean", "sqrtn" or "sum".
        max_norm: float32 scalar, or None.
        prune: drop negative keys and, unless summing, keys with weights that are not above 0.
        negative_keys: whether negative keys are valid, if they are not dropped.
        fill_empty: whether an empty bag gets the row of `default_id` instead of zeros.
        default_id: see `fill_empty`.
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

    plain = weights is None and max_norm is None
    asked, sums_of = keys, Bags(bags, rows)
    if fill_empty:  # one more bag, whose sum is the row of the default id
        asked = tf.concat([keys, tf.constant([default_id], keys.dtype)], 0)
        sums_of = Bags(tf.concat([bags, rows[None]], 0), rows + 1)

    def combine(results: tf.Tensor) -> tf.Tensor:
        sums = results if plain else _sums(results, sums_of, weights, max_norm)
        if not fill_empty:
            return divided(sums, bags, weights, combiner)
        filled = tf.math.unsorted_segment_sum(tf.ones_like(keys, tf.int32), bags, rows) > 0
        return tf.where(filled[:, None], divided(sums[:-1], bags, weights, combiner), sums[-1:])

    return Pooled(asked, sums_of if plain else None, combine)


def _sums(vectors: tf.Tensor, bags: Bags, weights: tf.Tensor | None, max_norm: tf.Tensor | None) -> tf.Tensor:
    """Return the sum of each bag; vectors beyond the weights have weight 1."""
    if max_norm is not None:
        vectors = tf.clip_by_norm(vectors, max_norm, axes=[1])
    if weights is not None:
        more = tf.ones([tf.shape(vectors)[0] - tf.size(weights)])
        vectors *= tf.concat([weights, more], 0)[:, None]
    return tf.math.unsorted_segment_sum(vectors, bags.numbers, bags.count)


def divided(sums: tf.Tensor, bags: tf.Tensor, weights: tf.Tensor | None, combiner: str) -> tf.Tensor:
    """Return sums [bags, dim] divided according to the combiner, given each id's bag and weight (None: 1)."""
    if combiner == "sum":
        return sums
    ones = tf.ones(tf.shape(bags)[:1]) if weights is None else weights
    by = tf.math.unsorted_segment_sum(ones if combiner == "mean" else ones**2, bags, tf.shape(sums)[0])[:, None]
    if combiner == "sqrtn":
        # The derivative of a square root is infinite at zero, so a weight's gradient would be NaN.
        some = by > 0
        by = tf.where(some, tf.sqrt(tf.where(some, by, 1.0)), 0.0)
    # Like TensorFlow, return zeros for a bag that is empty or whose weights sum to zero.
    return tf.math.divide_no_nan(sums, by)


def _after_last(bags: tf.Tensor) -> tf.Tensor:
    return tf.reduce_max(tf.concat([bags, tf.constant([-1], tf.int64)], 0)) + 1


def bags_of(layout: tf.Tensor, splits: bool) -> tf.Tensor:
    """Return the bag of each key, given row splits, the indices [n, 2] of a SparseTensor, or bag numbers [n]."""
    if splits:
        return tf.repeat(tf.range(tf.size(layout, tf.int64) - 1), layout[1:] - layout[:-1])
    return layout if layout.shape.rank == 1 else layout[:, 0]


def arguments(bags: Any, max_norm: tf.Tensor) -> dict[str, Any]:
    """Return the arguments of `pooled` for the ids of a checked pooled lookup."""
    return {
        "keys": bags.keys,
        "bags": bags_of(bags.layout, bags.splits),
        "weights": bags.weights if bags.weighted else None,
        "max_norm": max_norm[0] if max_norm.shape[0] else None,
    }
