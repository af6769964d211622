"""What stands in for each op of ours that reads tables, by its type."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tensorflow as tf

from rewriter.freezing.frozen_table import FrozenTable
from rewriter.freezing.pooling import Bags, PoolingRules, pooled

#: Takes an op and its tables, and returns a tensor for each of its outputs.
StandIn = Callable[[tf.Operation, Sequence[FrozenTable]], "list[tf.Tensor]"]

_POOLED = 7  # inputs of a pooled lookup: handle, anchor, keys, layout, weights, rows, max_norm


def _keys(tensor: tf.Tensor) -> tf.Tensor:
    return tf.cast(tensor, tf.int64)


def _rows(op: tf.Operation, tables: Sequence[FrozenTable]) -> list[tf.Tensor]:
    return [tables[0].read(_keys(op.inputs[2]))]


def _rows_of_group(op: tf.Operation, tables: Sequence[FrozenTable]) -> list[tf.Tensor]:
    keys = op.inputs[2 * len(tables) : 3 * len(tables)]
    return [table.read(one) for table, one in zip(tables, keys, strict=True)]


def _pooled(op: tf.Operation, tables: Sequence[FrozenTable]) -> list[tf.Tensor]:
    combiner = op.get_attr("combiner").decode()
    rules = PoolingRules.of(op, combiner, op.get_attr("splits"), op.get_attr("weighted"))
    return [pooled(tables[0], Bags(*op.inputs[2:]), rules)]


def _pooled_group(op: tf.Operation, tables: Sequence[FrozenTable]) -> list[tf.Tensor]:
    count, found = len(tables), []
    settings = zip(op.get_attr("combiners"), op.get_attr("splits"), op.get_attr("weighted"), strict=True)
    for number, (combiner, splits, weighted) in enumerate(settings):
        own = [op.inputs[count * argument + number] for argument in range(2, _POOLED)]
        rules = PoolingRules.of(op, combiner.decode(), splits, weighted)
        found.append(pooled(tables[number], Bags(*own), rules))
    return found


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
