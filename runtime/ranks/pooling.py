"""Pooled lookups of tables that ranks share: what they ask for, and what they make of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from runtime.ranks.messages import Bags


@dataclass(frozen=True)
class Pooled:
    """A pooled lookup whose ids are known and whose rows are to come.

    Attributes:
        asked: the ids whose rows it takes, [n].
        bags: the bags whose sums it takes in place of rows; None where ids weigh or rows are clipped.
        combine: gives [bags, dim], the combined rows of each bag, for the rows of `asked` [n, dim], or the sums.
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
    """Return what is to be looked up and how it is combined; the results are those of the native pooled lookup.

    Args:
        keys: [n], those of a bag beside each other.
        bags: int64 [n], ascending, the number of each key's bag.
        weights: float32 [n], or None for ones.
        rows: int64, how many bags there are; below 0 as many as the last key needs.
        combiner: "mean", "sqrtn" or "sum".
        max_norm: float32 scalar, or None.
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

    plain = weights is None and max_norm is None
    asked, sums_of = keys, Bags(bags, rows)
    if fill_empty:  # the row of the default id is the sum of one more bag
        asked = tf.concat([keys, tf.constant([default_id], keys.dtype)], 0)
        sums_of = Bags(tf.concat([bags, rows[None]], 0), rows + 1)

    def combine(found: tf.Tensor) -> tf.Tensor:
        sums = found if plain else _sums(found, sums_of, weights, max_norm)
        if not fill_empty:
            return divided(sums, bags, weights, combiner)
        filled = tf.math.unsorted_segment_sum(tf.ones_like(keys, tf.int32), bags, rows) > 0
        return tf.where(filled[:, None], divided(sums[:-1], bags, weights, combiner), sums[-1:])

    return Pooled(asked, sums_of if plain else None, combine)


def _sums(vectors: tf.Tensor, bags: Bags, weights: tf.Tensor | None, max_norm: tf.Tensor | None) -> tf.Tensor:
    """Return the sum of each bag; vectors that are more than weights weigh 1."""
    if max_norm is not None:
        vectors = tf.clip_by_norm(vectors, max_norm, axes=[1])
    if weights is not None:
        more = tf.ones([tf.shape(vectors)[0] - tf.size(weights)])
        vectors *= tf.concat([weights, more], 0)[:, None]
    return tf.math.unsorted_segment_sum(vectors, bags.numbers, bags.count)


def divided(sums: tf.Tensor, bags: tf.Tensor, weights: tf.Tensor | None, combiner: str) -> tf.Tensor:
    """Return sums [bags, dim] divided as the combiner says, given the bag of each id and its weight or None."""
    if combiner == "sum":
        return sums
    ones = tf.ones(tf.shape(bags)[:1]) if weights is None else weights
    by = tf.math.unsorted_segment_sum(ones if combiner == "mean" else ones**2, bags, tf.shape(sums)[0])[:, None]
    if combiner == "sqrtn":
        # The slope of a square root is infinite at zero: a weight's gradient would be 0 times infinity.
        some = by > 0
        by = tf.where(some, tf.sqrt(tf.where(some, by, 1.0)), 0.0)
    # As stock TensorFlow, zeros for a bag that is empty or whose weights sum to zero.
    return tf.math.divide_no_nan(sums, by)


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
