"""A variable or slot whose values are in the rows of a table: read, set and saved as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from rewriter.apply.partitions import row_keys
from rewriter.facts import Table
from runtime import native, sparse_lookup
from runtime._tf_private import SaveableObject, SaveSpec
from runtime.lookup.all_rows import rows_in_place
from runtime.table.table import Table as RuntimeTable


@dataclass(frozen=True)
class Whole:
    """A variable (`number` 0) or one of its slots (from 1 on), or a part of a partitioned one."""

    runtime_table: RuntimeTable
    table: Table
    part: int
    number: int = 0

    @property
    def name(self) -> str:
        part = self.table.pieces[self.part]
        return part.slots[self.number - 1] if self.number else part.name

    @property
    def shape(self) -> tuple[int, ...]:
        return (self.table.pieces[self.part].rows, *self.table.row)

    @property
    def rows(self) -> tf.Tensor | None:
        """The rows, where the rewrite has built a read of them."""
        stands_for = self.runtime_table.anchor.stands_for
        plain = len(self.table.pieces) == 1 and not self.number and stands_for is not None
        return stands_for.rows if plain else None

    def read(self, trains: bool = False) -> tf.Tensor:
        """Build a read of the values; if it `trains`, gradients go to each row."""
        keys = row_keys(self.table, self.part)
        with tf.device("/device:CPU:0"):
            if self.number:
                rows = tf.gather(self._slot(), keys)
            else:
                rows = sparse_lookup(self.runtime_table, keys) if trains else rows_in_place(self.runtime_table, keys)
        return tf.reshape(rows, self.shape)

    def _slot(self) -> tf.Tensor:
        """Build a read of the slot of all rows of the variable; those of a table that no step has updated are new."""
        start, dim, rows = self.table.starts[self.number - 1], self.runtime_table.dim, self.table.rows
        keys, _, slots, _ = self.runtime_table.snapshot()
        slots = tf.pad(
            slots, [[0, 0], [0, tf.maximum(0, self.number * dim - tf.shape(slots)[1])]], constant_values=start
        )
        known = tf.boolean_mask(tf.range(tf.size(keys)), (keys >= 0) & (keys < rows))
        column = tf.gather(slots, known)[:, (self.number - 1) * dim : self.number * dim]
        return tf.tensor_scatter_nd_update(tf.fill([rows, dim], start), tf.gather(keys, known)[:, tf.newaxis], column)

    def assign(self, value: tf.Tensor, before: tf.Tensor | None = None) -> tf.Operation:
        """Build what sets the values; of rows that were read `before`, those that differ from them."""
        keys, values = row_keys(self.table, self.part), tf.reshape(value, [self.shape[0], self.runtime_table.dim])
        if before is not None:
            differ = tf.reduce_any(tf.not_equal(values, tf.reshape(before, tf.shape(values))), 1)
            changed = tf.reshape(tf.where(differ), [-1])
            keys, values = tf.gather(keys, changed), tf.gather(values, changed)
        if not self.number:
            return self.runtime_table.anchor.set_rows(keys, values)
        (owner,) = self.table.optimizers
        # A row that waits for steps of its slots takes these first.
        with tf.device("/device:CPU:0"), tf.control_dependencies(self.runtime_table.snapshot()):
            how = {"optimizer": owner.rule, "starts": owner.starts, "column": self.number}
            return tf.group(
                *(
                    native.ops().rec_write_column(held.created, *held.own(keys, values), **how)
                    for held in self.runtime_table.parts or [self.runtime_table]
                )
            )


class SavedRows(SaveableObject):  # type: ignore[misc]
    """Saves rows of a table as the variable or slot that they replaced, and restores them."""

    def __init__(self, whole: Whole, op: tf.Operation, name: str, part: str) -> None:
        """Take what is saved, its name in checkpoints, and which part of that it is, as a Saver says; empty: all."""
        with tf.control_dependencies(None):
            values = whole.read()
        super().__init__(op, [SaveSpec(values, part, name)], name)
        self._whole = whole

    def restore(self, restored_tensors: list[tf.Tensor], restored_shapes: Any) -> tf.Operation:
        """Set the values to those of a checkpoint."""
        return self._whole.assign(restored_tensors[0])
