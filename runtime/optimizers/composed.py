"""Reads and writes of single rows by steps that a graph composes, for the graph rewriter: of values, and of slots."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow as tf

from runtime import native
from runtime.table.table import Table


@dataclass(frozen=True)
class Column:
    """Where rows lie: `number` 0 is the value, 1 the first slot of the optimizer with this set of slots.

    `rule` and `starts` say what slots the optimizer has; a value needs none of these.
    """

    number: int = 0
    rule: str = "sgd"
    starts: tuple[float, ...] = ()
    slot_set: int = 0


def read_slot(table: Table, column: Column, keys: tf.Tensor) -> tf.Tensor:
    """Return a slot of the rows of keys int64 [n], float32 [n, dim]; rows without it have what it starts with."""
    with tf.device("/device:CPU:0"):
        rows: tf.Tensor = native.ops().rec_read_slot(
            table.handle,
            table.variable.tensor(),
            keys,
            column=column.number,
            optimizer=column.rule,
            starts=column.starts,
            slot_set=column.slot_set,
        )
    return rows


def write_rows(table: Table, column: Column, keys: tf.Tensor, values: tf.Tensor, how: str) -> tf.Operation:
    """Return the op that sets, adds to or subtracts from (`how`: set, add, sub) the rows of keys int64 [n].

    `values` are float32 [n, dim]; those of equal keys are written one after the other.
    """
    with tf.device("/device:CPU:0"):
        return native.ops().rec_write_column(
            table.handle,
            keys,
            values,
            column=column.number,
            optimizer=column.rule,
            starts=column.starts,
            slot_set=column.slot_set,
            how=how,
        )
