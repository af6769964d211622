"""The anchor of a counted table, which Savers save and restore and stock v1 optimizers train."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private, native
from runtime._assertions import checked
from runtime.embedding_variable import checkpoint_layout
from runtime.embedding_variable.checkpoint_reader import BLOOM, filled
from runtime.embedding_variable.counted_table import CountedTable, Slots
from runtime.optimizers import stock
from runtime.ranks.process_group import why_not_a_part
from runtime.table.anchor import Anchor, GraphAnchor


class CountedAnchor(GraphAnchor):
    """The anchor of a `CountedTable`; stock v1 optimizers train it."""

    table: CountedTable
    _saved_with: tuple[str, ...] = ()
    #: (path of a checkpoint, name there) if every restore must take the rows from there instead.
    source: tuple[str, str] | None = None

    @property
    def constraint(self) -> None:
        """Always None."""
        return None

    @property
    def specs(self) -> list[_tf_private.SaveSpec]:
        """The tensors that a Saver writes, including the slots of the optimizer that trains the table."""
        slots = self.table.slots.names
        if self._saved_with != slots:
            self._save_specs, self._saved_with = None, slots
        return super().specs

    def saved(self, name: str, names: Sequence[str] = (), slots: Sequence[Sequence[str]] = ()) -> dict[str, tf.Tensor]:
        """Return new tensors to save, after rows were dropped; it replaced no variable that had other names."""
        with tf.control_dependencies(self.table.dropped()):
            return checkpoint_layout.saved(self.table, name, self.table.slots)

    def read_all(self, prefix: tf.Tensor) -> list[tf.Tensor]:
        """Return the table's share of all parts in a checkpoint, as a flat list that matches `specs`."""
        with self.table.scope("restore"):
            path, name = self.source or (None, None)
            rows = checkpoint_layout.read(
                self.table, prefix if path is None else tf.constant(path), self.table.slots, name
            )
        flat = tf.nest.flatten(rows)
        return [*flat, *[tf.zeros([0])] * (len(self.specs) - len(flat))]

    def restore(self, restored_tensors: list[tf.Tensor], restored_shapes: list[tf.TensorShape] | None) -> tf.Operation:
        """Replace the rows by the result of `read_all`."""
        refused = why_not_a_part(self.table.table_name)
        if refused:
            return checked(tf.constant(False), refused, tf.constant(0))
        return self.replaced(self.packed(restored_tensors))

    def packed(self, tensors: Sequence[tf.Tensor]) -> checkpoint_layout.Rows:
        """Return the rows in the first of these flat tensors, in the order of `tf.nest.flatten`."""
        counted = () if self.table.rules.bloom is None else (0, 0)
        like = checkpoint_layout.Rows(0, 0, 0, 0, 0, (0, 0, 0), counted, ((0, 0),) * len(self.table.slots.names))
        rows: checkpoint_layout.Rows = tf.nest.pack_sequence_as(like, tensors[: len(tf.nest.flatten(like))])
        return rows

    def restore_tensors(self, restored: dict[str, tf.Tensor]) -> tf.Operation:
        """Replace the rows by those of a tf.train.Checkpoint."""

        def history(part: str, key: str, value: int) -> tf.Tensor:
            return filled(restored[part], restored[key], value)

        threshold, keys = max(1, self.table.rules.threshold), restored["keys"]
        waiting = tuple(
            history(part, "keys_filtered", value)
            for part, value in (("keys_filtered", 0), ("freqs_filtered", 0), ("versions_filtered", -1))
        )
        bloom = () if self.table.rules.bloom is None else tuple(restored[part] for part in BLOOM)
        slots = tuple((restored[f":{name}-keys"], restored[f":{name}-values"]) for name in self.table.slots.names)
        values = restored["values"]
        freqs, versions = history("freqs", "keys", threshold), history("versions", "keys", -1)
        return self.replaced(
            checkpoint_layout.Rows(keys, freqs, versions, values, tf.shape(values)[1], waiting, bloom, slots)
        )

    def _checkpoint_key(self, name: str) -> str:
        return super()._checkpoint_key(name).replace("/", ":")

    def replaced(self, rows: checkpoint_layout.Rows) -> tf.Operation:
        """Replace the rows; draw the matrix for further keys unless it exists."""
        with tf.control_dependencies([self._draw()]), tf.device("/device:CPU:0"):
            filled = checkpoint_layout.restored(self.table, self.table.slots, rows)
        with tf.control_dependencies([filled, self.table.filled.initializer]):
            return self.mark_initialized()

    def start_from(self, path: str, name: str) -> None:
        """Let the init op fill the table with the rows of the variable `name` in a checkpoint; slots start afresh."""
        with tf.control_dependencies(None), self.table.scope("start"):
            self.start_by(self.replaced(checkpoint_layout.read(self.table, tf.constant(path), Slots(), name)))

    def _emptied(self) -> tf.Tensor:
        """Draw the matrix unless it exists. Like DeepRec's, the init op keeps the rows when it runs again.

        A new table is empty, so nothing has to be removed.
        """
        with tf.control_dependencies([self._draw(), self.table.filled.initializer]):
            return tf.zeros([0, self.table.dim])

    def _draw(self) -> tf.Operation:
        return native.ops().rec_initial_rows(self.table.created, self.table.initial_rows(), keep=True)


def _is_counted(variable: Any) -> bool:
    return isinstance(variable, Anchor) and isinstance(variable.table, CountedTable)


def _update(optimizer: Any, anchor: CountedAnchor, gradient: Any) -> tf.Operation:
    form = stock.form_of(optimizer, anchor)
    names = [optimizer.get_name() + (f"_{number}" if number else "") for number in range(len(form.starts))]
    done = stock.update(optimizer, anchor, gradient, form)
    anchor.table.slots = Slots(form.rule, tuple(names), form.starts)
    return done


_tf_private.extend_optimizers(_is_counted, _update)
