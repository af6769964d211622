"""The anchors of a table's shards on several parameter servers, as what stands for the variable that it replaced.

Rewritten graphs treat it as they treat the anchor of a table of one process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from runtime.table.clusters.servers import ROWS
from runtime.table.replaced_variable import ReplacedVariable

Reader = Callable[[tf.Tensor, tf.Tensor], list[tf.Tensor]]


class Anchors:
    """The anchors of a table's shards, as one; keys say which of them gets a row."""

    def __init__(self, table: Any, shards: Sequence[Any]) -> None:
        """Take the table and its shards, or some of them."""
        self._table = table
        self._each = [(shard.variable, shard.arguments.servers[0]) for shard in shards]
        self._started: tf.Operation | None = None

    def of_shard(self, number: int) -> Anchors:
        """Return what stands for one shard alone."""
        return Anchors(self._table, [self._table.shards[number]])

    @property
    def initializer(self) -> tf.Operation:
        """The op that fills all shards with their first rows."""
        if self._started is None:
            with tf.control_dependencies(None), tf.name_scope(f"{self._table.graph_name}/"):
                self._started = tf.group(*(anchor.initializer for anchor, _ in self._each), name="initializer")
        return self._started

    @property
    def reader(self) -> Reader | None:
        """What reads all rows of a checkpoint: see `GraphAnchor.reader`."""
        reader: Reader | None = self._each[0][0].reader
        return reader

    @reader.setter
    def reader(self, reader: Reader) -> None:
        for anchor, shard in self._each:
            anchor.reader = _own(reader, shard)

    @property
    def stands_for(self) -> ReplacedVariable | None:
        """The variable that the table replaced: see `GraphAnchor.stands_for`."""
        variable: ReplacedVariable | None = self._each[0][0].stands_for
        return variable

    @stands_for.setter
    def stands_for(self, variable: ReplacedVariable) -> None:
        for anchor, _ in self._each:
            anchor.stands_for = variable

    @property
    def with_slots(self) -> bool:
        """Whether the next warm start takes slots: see `GraphAnchor.with_slots`."""
        return bool(self._each[0][0].with_slots)

    @with_slots.setter
    def with_slots(self, wanted: bool) -> None:
        for anchor, _ in self._each:
            anchor.with_slots = wanted

    def set_rows(self, keys: tf.Tensor, values: tf.Tensor, meta: tf.Tensor | None = None) -> tf.Operation:
        """Set rows of a table that may not be initialized yet, and mark it as such; slots are kept."""
        ops = []
        for anchor, shard in self._each:
            ops.append(anchor.set_rows(*shard.own(keys, values), meta))
        return tf.group(*ops)

    def set_whole(self, value: Any, shape: Sequence[int]) -> tf.Operation:
        """Return an op that sets the rows of the keys from 0 on to a value of this shape, a row for each key."""
        rows = tf.ensure_shape(tf.convert_to_tensor(value, tf.float32), shape)
        keys = tf.range(shape[0], dtype=tf.int64) + self._table.first_key
        return self.set_rows(keys, tf.reshape(rows, [shape[0], self._table.dim]))

    def checks(self, keys: tf.Tensor, values: tf.Tensor) -> list[tf.Operation]:
        """Return ops that fail where a shard cannot have its rows of a checkpoint."""
        return [check for anchor, shard in self._each for check in anchor.checks(*shard.own(keys, values))]

    def saved(self, name: str, names: Sequence[str] = (), slots: Sequence[Sequence[str]] = ()) -> dict[str, tf.Tensor]:
        """Return new tensors to save, all rows together: see `GraphAnchor.saved`."""
        rows = self._table.saved_rows(base=True)
        parts = zip([name + suffix for suffix in ROWS], rows, strict=True)
        return {name: self._each[0][0].saved_anchor(name, names, slots), **dict(parts)}

    def restore(self, restored_tensors: list[tf.Tensor], restored_shapes: None) -> tf.Operation:
        """Replace the rows of all shards by those of a checkpoint: anchor, keys, values, slots and metadata."""
        first, *rows = restored_tensors
        return tf.group(
            *(anchor.restore([first, *shard.own_of_checkpoint(rows)], restored_shapes) for anchor, shard in self._each)
        )


def _own(reader: Reader, shard: Any) -> Reader:
    def read(prefix: tf.Tensor, there: tf.Tensor) -> list[tf.Tensor]:
        first, *rows = reader(prefix, there)
        return [first, *shard.own_of_checkpoint(rows)]

    return read
