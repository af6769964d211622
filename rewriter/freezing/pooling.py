"""Pooled lookups by stock ops, in the order of additions of `native/ops/pooled.cc`, which is TensorFlow's."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from rewriter.freezing.frozen_table import FrozenTable

_REDUCE = {
    "sum": tf.raw_ops.SparseSegmentSumWithNumSegments,
    "mean": tf.raw_ops.SparseSegmentMeanWithNumSegments,
    "sqrtn": tf.raw_ops.SparseSegmentSqrtNWithNumSegments,
}
_LANES = 8  # partial sums of a squared norm


class Bags(NamedTuple):
    """The inputs of a pooled lookup: ids [n], row splits or row numbers, weights, number of bags or -1, norm or []."""

    keys: tf.Tensor
    layout: tf.Tensor
    weights: tf.Tensor
    rows: tf.Tensor
    max_norm: tf.Tensor


class PoolingRules(NamedTuple):
    """The attributes of a pooled lookup."""

    name: str
    combiner: str
    splits: bool
    weighted: bool
    prune: bool
    negative_keys: bool
    fill_empty: bool
    default_id: int

    @classmethod
    def of(cls, op: tf.Operation, combiner: str, splits: bool, weighted: bool) -> PoolingRules:
        """Return the rules of an op, or of one member of a group."""
        rest = [op.get_attr(name) for name in ("prune", "negative_keys", "fill_empty", "default_id")]
        return cls(op.name, combiner, splits, weighted, *rest)


class _Ids(NamedTuple):
    """Ids of bags in order, with weights (of any shape if there are none), and the number of bags."""

    keys: tf.Tensor
    bags: tf.Tensor
    weights: tf.Tensor
    count: tf.Tensor


def pooled(table: FrozenTable, given: Bags, rules: PoolingRules) -> tf.Tensor:
    """Return one row a bag, float32 [bags, dim]; zeros for empty ones.

    Raises:
        ValueError: whether rows are clipped is only known when the graph runs.
    """
    ids = _ids(given, rules)
    if rules.prune:
        ids = _pruned(ids, rules)
    elif not rules.negative_keys:
        ids = _not_negative(ids)
    rows = table.read(ids.keys)
    if given.max_norm.shape.num_elements() is None:
        raise ValueError(f"`{rules.name}` gets `max_norm` of unknown shape: export with a number, or without")
    if given.max_norm.shape.num_elements():
        rows = _clipped(rows, tf.reshape(given.max_norm, []), table.source.dim)
    if rules.weighted:
        return _weighted(rows, ids, rules)
    places = tf.range(tf.size(ids.keys))
    result: tf.Tensor = _REDUCE[rules.combiner](data=rows, indices=places, segment_ids=ids.bags, num_segments=ids.count)
    return result


def _ids(given: Bags, rules: PoolingRules) -> _Ids:
    keys = tf.cast(given.keys, tf.int64)
    count = tf.size(keys, tf.int64)
    if rules.splits:
        bags = tf.searchsorted(given.layout[1:], tf.range(count), side="right", out_type=tf.int64)
        every = tf.size(given.layout, tf.int64) - 1
    else:
        bags = given.layout if given.layout.shape.rank == 1 else given.layout[:, 0]
        every = given.rows
    used = tf.reduce_max(tf.concat([tf.constant([-1], tf.int64), bags], 0)) + 1
    return _Ids(keys, bags, given.weights, tf.where(given.rows < 0, used, every))


def _pruned(ids: _Ids, rules: PoolingRules) -> _Ids:
    """Return the ids without negative ones and, unless summing, those of no weight; empty bags get the default."""
    kept = ids.keys >= 0
    if rules.weighted and rules.combiner != "sum":
        kept = tf.logical_and(kept, ids.weights > 0)
    keys, bags = tf.boolean_mask(ids.keys, kept), tf.boolean_mask(ids.bags, kept)
    weights = tf.boolean_mask(ids.weights, kept) if rules.weighted else ids.weights
    if rules.fill_empty:
        sizes = tf.math.unsorted_segment_sum(tf.ones_like(bags), bags, ids.count)
        empty = tf.reshape(tf.where(tf.equal(sizes, 0)), [-1])
        keys = tf.concat([keys, tf.fill(tf.shape(empty), tf.constant(rules.default_id, tf.int64))], 0)
        bags = tf.concat([bags, empty], 0)
        weights = tf.concat([weights, tf.ones(tf.shape(empty))], 0) if rules.weighted else weights
    order = tf.argsort(bags, stable=True)
    weights = tf.gather(weights, order) if rules.weighted else weights
    return _Ids(tf.gather(keys, order), tf.gather(bags, order), weights, ids.count)


def _not_negative(ids: _Ids) -> _Ids:
    message = "a pooled lookup got negative ids: leave them out with safe_embedding_lookup_sparse"
    sound = tf.reduce_all(ids.keys >= 0)
    with tf.control_dependencies([tf.raw_ops.Assert(condition=sound, data=[message])]):
        return ids._replace(keys=tf.identity(ids.keys))


def _weighted(rows: tf.Tensor, ids: _Ids, rules: PoolingRules) -> tf.Tensor:
    sums = tf.math.unsorted_segment_sum(rows * ids.weights[:, None], ids.bags, ids.count)
    if rules.combiner == "sum":
        return sums
    parts = ids.weights if rules.combiner == "mean" else ids.weights * ids.weights
    total = tf.math.unsorted_segment_sum(parts, ids.bags, ids.count)
    return tf.math.divide_no_nan(sums, (total if rules.combiner == "mean" else _root(total))[:, None])


def _root(x: tf.Tensor) -> tf.Tensor:
    """Return the square root; TensorFlow's optimizer would divide by it with another rounding, but not by this."""
    return tf.maximum(tf.sqrt(x), 0.0)


def _clipped(rows: tf.Tensor, norm: tf.Tensor, dim: int) -> tf.Tensor:
    """Return the rows, those with a larger norm scaled down to it."""
    wide = tf.pad(rows * rows, [[0, 0], [0, -dim % _LANES]])
    parts = [wide[:, at : at + _LANES] for at in range(0, dim, _LANES)]
    lanes = parts[0]
    for part in parts[1:]:
        lanes += part
    lanes = [lanes[:, at] for at in range(_LANES)]
    first, second, third, fourth = (lanes[at] + lanes[at + 4] for at in range(4))
    length = _root((first + second) + (third + fourth))
    return tf.math.divide_no_nan(rows * norm, tf.maximum(length, norm)[:, None])
