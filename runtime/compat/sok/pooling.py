"""Sums and means of rows, like `tf.nn.embedding_lookup_sparse`, on the rank that requested the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from runtime._assertions import checked
from runtime.ranks import messages

_COMBINERS = ("mean", "sum")


@dataclass(frozen=True)
class Bags:
    """Ids int64 [n], the bag of each, int64 [n], weights float32 [n] or None, and the number of bags."""

    keys: tf.Tensor
    places: tf.Tensor
    weights: tf.Tensor | None
    count: tf.Tensor
    #: The number of bags if it is known when the graph is built, else None.
    known_count: int | None

    @property
    def sums(self) -> messages.Bags | None:
        """The bags that a lookup sums; None if each row has a weight."""
        return messages.Bags(self.places, self.count) if self.weights is None else None


def bags_of(ids: Any, weights: Any) -> Bags:
    """Return the bags of a SparseTensor or RaggedTensor of rank 2; ids in a row may have gaps.

    Raises:
        TypeError: ids or weights are neither, weights are of the other kind, or ids are not integers.
        ValueError: the rank is not 2, or the number of weights differs from that of the ids.
        InvalidArgumentError: these numbers differ, in a graph.
    """
    kind = tf.RaggedTensor if isinstance(ids, tf.RaggedTensor) else tf.SparseTensor
    if not isinstance(ids, kind):
        raise TypeError(f"`sp_ids` are {type(ids).__name__}: they must be a SparseTensor or a RaggedTensor")
    if weights is not None and not isinstance(weights, kind):
        raise TypeError(f"`sp_weights` are {type(weights).__name__}: they must be a {kind.__name__} as the ids are")
    if ids.shape.rank not in (2, None):
        raise ValueError(f"`sp_ids` have shape {ids.shape}: they must be of rank 2, one row for each sample")
    if not ids.dtype.is_integer:
        raise TypeError(f"`sp_ids` are {ids.dtype.name}: they must be integers")
    keys = tf.cast(ids.values, tf.int64)
    scale = None if weights is None else _matching(ids, weights)
    if isinstance(ids, tf.RaggedTensor):
        return Bags(keys, tf.cast(ids.value_rowids(), tf.int64), scale, ids.nrows(out_type=tf.int64), ids.shape[0])
    return Bags(keys, ids.indices[:, 0], scale, tf.cast(ids.dense_shape[0], tf.int64), ids.shape[0])


def _matching(ids: Any, weights: Any) -> tf.Tensor:
    """Return the weights of ids, float32 [n], checked to be one for each id."""
    if isinstance(ids, tf.RaggedTensor):
        mine, other = ids.row_splits, weights.row_splits
    else:
        mine, other = tf.size(ids.values, tf.int64)[None], tf.size(weights.values, tf.int64)[None]
    mine, other = tf.cast(mine, tf.int64), tf.cast(other, tf.int64)
    message = "`sp_weights` of lookup_sparse do not match the rows of `sp_ids`: give one weight for each id"
    if tf.executing_eagerly():
        if not np.array_equal(mine, other):
            raise ValueError(message)
        return tf.cast(weights.values, tf.float32)
    shared = tf.minimum(tf.size(mine), tf.size(other))
    same = tf.reduce_all(tf.equal(mine[:shared], other[:shared])) & tf.equal(tf.size(mine), tf.size(other))
    with tf.control_dependencies([checked(same, message, tf.stack([tf.size(mine), tf.size(other)]))]):
        return tf.cast(weights.values, tf.float32)


def combiner_of(combiner: Any) -> str:
    """Return "mean" or "sum", given in any spelling; None is "mean".

    Raises:
        ValueError: it is another combiner.
    """
    name = "mean" if combiner is None else combiner.decode() if isinstance(combiner, bytes) else str(combiner)
    if name.lower() not in _COMBINERS:
        raise ValueError(f"the combiner {combiner!r} is unknown: SOK has 'mean' and 'sum'")
    return name.lower()


def pooled(rows: tf.Tensor, bags: Bags, combiner: str) -> tf.Tensor:
    """Return [bags, dim], given the rows [n, dim] of ids with weights, or the sums [bags, dim] of ids without.

    A bag without ids, or a mean with total weight 0, is zero.
    """
    sums = rows
    if bags.weights is not None:
        weighted = rows * tf.cast(bags.weights, rows.dtype)[:, None]
        sums = tf.math.unsorted_segment_sum(weighted, bags.places, bags.count)
    if combiner == "mean":
        ones = tf.ones_like(bags.places, rows.dtype)
        by = ones if bags.weights is None else tf.cast(bags.weights, rows.dtype)
        total = tf.math.unsorted_segment_sum(by, bags.places, bags.count)
        sums = tf.math.divide_no_nan(sums, total[:, None])
    sums.set_shape([bags.known_count, rows.shape[1]])
    return sums
