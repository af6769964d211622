"""Restores a table from a checkpoint in which it was still a variable, with its optimizer slots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from runtime._assertions import checked
from runtime.checkpoint.presence import restored
from runtime.checkpoint.rows import optimizer_kind
from runtime.table.anchor import as_base
from runtime.table.clusters.servers import ROWS
from runtime.table.table import Table

_TYPES = (tf.int64, tf.float32, tf.float32, tf.int64)


@dataclass(frozen=True)
class StockVariable:
    """The variable that `table` replaced: row i has key i. `shape` is [rows, dim], or another with rows of that size.

    `optimizer` is the one that trains the table in this graph; None if there is none, and then slots are not restored.
    `starts` are the initial values of the slots. `keys`, if given, returns the key of each row, int64 [rows].
    """

    table: Table
    shape: tuple[int, ...]
    optimizer: str | None
    starts: tuple[float, ...]
    keys: Callable[[], tf.Tensor] | None = None

    def read(
        self, prefix: tf.Tensor, is_table: tf.Tensor, names: Sequence[str], slots: Sequence[Sequence[str]]
    ) -> list[tf.Tensor]:
        """Return anchor, keys, values, slots and metadata from a checkpoint of the table or of the variable.

        `is_table` says which of the two the checkpoint `prefix` has as `names[0]`. Further names belong to the
        variable's other parts. `slots` are the names of the variable's slots in the order of a row, each in parts as
        well; if it is empty, the slots start afresh.
        """

        def of_table() -> list[tf.Tensor]:
            return as_base(self.table, restored(prefix, [names[0] + suffix for suffix in ROWS], _TYPES))

        def of_variable() -> list[tf.Tensor]:
            return self._rows(prefix, names, slots)

        with tf.device("/device:CPU:0"):
            return [tf.zeros([0, self.table.dim]), *tf.cond(is_table, of_table, of_variable)]

    def _rows(self, prefix: tf.Tensor, names: Sequence[str], slots: Sequence[Sequence[str]]) -> list[tf.Tensor]:
        variable = tf.concat(_floats(prefix, names), 0)
        name, shape = self.table.table_name, list(self.shape)
        message = (
            f"the checkpoint's variable `{name}` does not have the shape {shape} of the model's variable: restore "
            "a checkpoint of this model"
        )
        kind = self.optimizer if slots else None
        stored_shape = tf.shape(variable)
        with tf.control_dependencies([checked(tf.reduce_all(tf.equal(stored_shape, shape)), message, stored_shape)]):
            values = self._matrix(tf.identity(variable))
        parts = [self._matrix(tf.concat(_floats(prefix, slot), 0)) for slot in slots] or [tf.zeros([shape[0], 0])]
        keys = tf.range(shape[0], dtype=tf.int64) if self.keys is None else self.keys()
        starts = np.array(self.starts if kind else (), np.float32).view(np.uint32).astype(np.int64)
        meta = [2, self.table.seed, self.table.dim, len(slots), optimizer_kind(kind or "none"), *starts]
        return [keys, values, tf.concat(parts, 1), tf.constant(meta, tf.int64)]

    def _matrix(self, values: tf.Tensor) -> tf.Tensor:
        return tf.reshape(values, [self.shape[0], self.table.dim])


def _floats(prefix: tf.Tensor, names: Sequence[str]) -> Sequence[tf.Tensor]:
    return restored(prefix, names, [tf.float32] * len(names))
