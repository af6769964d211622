"""What stands in for each op of ours that reads tables, by its type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import tensorflow as tf

from rewriter.freezing.frozen_table import FrozenTable

#: Takes an op and its tables, and returns a tensor for each of its outputs.
StandIn = Callable[[tf.Operation, Sequence[FrozenTable]], "list[tf.Tensor]"]

_POOLED = 7  # inputs of a pooled lookup: handle, anchor, keys, layout, weights, rows, max_norm
_REDUCE = {
    "sum": tf.raw_ops.SparseSegmentSumWithNumSegments,
    "mean": tf.raw_ops.SparseSegmentMeanWithNumSegments,
    "sqrtn": tf.raw_ops.SparseSegmentSqrtNWithNumSegments,
}
_LANES = 8  # partial sums of a squared norm


def _keys(tensor: tf.Tensor) -> tf.Tensor:
    return tf.cast(tensor, tf.int64)


def _rows(op: tf.Operation, tables: Sequence[FrozenTable]) -> list[tf.Tensor]:
    return [tables[0].read(_keys(op.inputs[2]))]


def _rows_of_group(op: tf.Operation, tables: Sequence[FrozenTable]) -> list[tf.Tensor]:
    keys = op.inputs[2 * len(tables) : 3 * len(tables)]
    return [table.read(one) for table, one in zip(tables, keys, strict=True)]


def _pooled(op: tf.Operation, tables: Sequence[FrozenTable]) -> list[tf.Tensor]:
    combiner = op.get_attr("combiner").decode()
    rules = _PoolingRules.of(op, combiner, op.get_attr("splits"), op.get_attr("weighted"))
    return [pooled(tables[0], _Bags(*op.inputs[2:]), rules)]


def _pooled_group(op: tf.Operation, tables: Sequence[FrozenTable]) -> list[tf.Tensor]:
    count, pooled_rows = len(tables), []
    settings = zip(op.get_attr("combiners"), op.get_attr("splits"), op.get_attr("weighted"), strict=True)
    for number, (combiner, splits, weighted) in enumerate(settings):
        own = [op.inputs[count * argument + number] for argument in range(2, _POOLED)]
        rules = _PoolingRules.of(op, combiner.decode(), splits, weighted)
        pooled_rows.append(pooled(tables[number], _Bags(*own), rules))
    return pooled_rows


def _admitted(op: tf.Operation, tables: Sequence[FrozenTable]) -> list[tf.Tensor]:
    table, threshold = tables[0], op.get_attr("threshold")
    least = table.source.least_count
    if least is not None and least < threshold:
        raise ValueError(
            f"`{op.name}` admits keys of the table `{table.source.name}` from {threshold} occurrences on, and the "
            f"checkpoint has rows with {least}: train with this threshold, or export with that of training"
        )
    return [_or_number(table, op.inputs[2], 0.0), table.has(op.inputs[2])]


def _permitted(op: tf.Operation, tables: Sequence[FrozenTable]) -> list[tf.Tensor]:
    return [_or_number(tables[0], op.inputs[2], op.get_attr("refused"))]


def _or_number(table: FrozenTable, keys: tf.Tensor, number: float) -> tf.Tensor:
    """Return the rows of keys, where those that begin with none read a number in all columns."""
    return tf.where(table.begins(keys)[..., None], table.stored(keys), tf.constant(number, tf.float32))


def _contains(op: tf.Operation, tables: Sequence[FrozenTable]) -> list[tf.Tensor]:
    return [tables[0].has(_keys(op.inputs[1]))]


def _size(op: tf.Operation, tables: Sequence[FrozenTable]) -> list[tf.Tensor]:
    return [tf.constant(tables[0].source.ids, tf.int64)]


def _same(op: tf.Operation, tables: Sequence[FrozenTable]) -> list[tf.Tensor]:
    return [tf.identity(op.inputs[0])]


STAND_INS: dict[str, StandIn] = {
    "RecLookup": _rows,
    "RecLookupOrInsert": _rows,
    "RecLookupGroup": _rows_of_group,
    "RecLookupOrInsertGroup": _rows_of_group,
    "RecPooledLookup": _pooled,
    "RecPooledLookupOrInsert": _pooled,
    "RecPooledLookupGroup": _pooled_group,
    "RecPooledLookupOrInsertGroup": _pooled_group,
    "RecLookupAdmitted": _admitted,
    "RecLookupPermitted": _permitted,
    "RecContains": _contains,
    "RecTableSize": _size,
    "RecPrepareKeys": _same,
}


def handles(op: tf.Operation) -> int:
    """Return how many of the first inputs of an op are handles of tables."""
    if op.type == "RecPrepareKeys":
        return 0
    return int(op.get_attr("N")) if op.type.endswith("Group") else 1


class _Bags(NamedTuple):
    """The inputs of a pooled lookup: ids [n], row splits or row numbers, weights, number of bags or -1, norm or []."""

    keys: tf.Tensor
    layout: tf.Tensor
    weights: tf.Tensor
    rows: tf.Tensor
    max_norm: tf.Tensor


class _PoolingRules(NamedTuple):
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
    def of(cls, op: tf.Operation, combiner: str, splits: bool, weighted: bool) -> _PoolingRules:
        """Return the rules of an op, or of one member of a group."""
        rest = [op.get_attr(name) for name in ("prune", "negative_keys", "fill_empty", "default_id")]
        return cls(op.name, combiner, splits, weighted, *rest)


class _Ids(NamedTuple):
    """Ids of bags in order, with weights (of any shape if there are none), and the number of bags."""

    keys: tf.Tensor
    bags: tf.Tensor
    weights: tf.Tensor
    count: tf.Tensor


def pooled(table: FrozenTable, bags: _Bags, rules: _PoolingRules) -> tf.Tensor:
    """Return one row a bag, float32 [bags, dim]; zeros for empty ones.

    Raises:
        ValueError: whether rows are clipped is only known when the graph runs.
    """
    ids = _ids(bags, rules)
    if rules.prune:
        ids = _pruned(ids, rules)
    elif not rules.negative_keys:
        ids = _not_negative(ids)
    rows = table.read(ids.keys)
    if bags.max_norm.shape.num_elements() is None:
        raise ValueError(
            f"`{rules.name}` gets a `max_norm` that is computed, of unknown shape: export the model with a number as "
            "max_norm, or without it"
        )
    if bags.max_norm.shape.num_elements():
        rows = _clipped(rows, tf.reshape(bags.max_norm, []), table.source.dim)
    if rules.weighted:
        return _weighted(rows, ids, rules)
    places = tf.range(tf.size(ids.keys))
    result: tf.Tensor = _REDUCE[rules.combiner](data=rows, indices=places, segment_ids=ids.bags, num_segments=ids.count)
    return result


def _ids(pooled_bags: _Bags, rules: _PoolingRules) -> _Ids:
    keys = tf.cast(pooled_bags.keys, tf.int64)
    count = tf.size(keys, tf.int64)
    if rules.splits:
        bags = tf.searchsorted(pooled_bags.layout[1:], tf.range(count), side="right", out_type=tf.int64)
        every = tf.size(pooled_bags.layout, tf.int64) - 1
    else:
        bags = pooled_bags.layout if pooled_bags.layout.shape.rank == 1 else pooled_bags.layout[:, 0]
        every = pooled_bags.rows
    used = tf.reduce_max(tf.concat([tf.constant([-1], tf.int64), bags], 0)) + 1
    return _Ids(keys, bags, pooled_bags.weights, tf.where(pooled_bags.rows < 0, used, every))


def _pruned(ids: _Ids, rules: _PoolingRules) -> _Ids:
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


def _weighted(rows: tf.Tensor, ids: _Ids, rules: _PoolingRules) -> tf.Tensor:
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
