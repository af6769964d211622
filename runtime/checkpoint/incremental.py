"""`IncrementalSaver`: a Saver that writes a complete checkpoint now and then, and only changed rows in between."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import Any

import tensorflow as tf

from runtime import _tf_private, native
from runtime.checkpoint.bundle import Bundle, read_all
from runtime.checkpoint.history import NOTHING, Baseline, History
from runtime.checkpoint.increments import chain_of
from runtime.checkpoint.rows import DELTA_JOINT, DELTA_PARTS, part_names
from runtime.table.anchor import GraphAnchor
from runtime.table.table import Table, grouped

_v1 = tf.compat.v1


class IncrementalSaver(tf.compat.v1.train.Saver):  # type: ignore[misc]
    """A v1 Saver for training loops, `Scaffold(saver=…)` and Estimator.

    Every `full_every`-th save writes an ordinary checkpoint. The others (increments) write the dense variables, the
    rows that changed since the previous save, and the removed keys. `restore` takes the path of either kind. Between
    saves, 16 bytes per row are kept in memory. The last `max_to_keep` checkpoints (0 or None: all) can be restored;
    those that they build on are kept as well.
    """

    def __init__(
        self, var_list: Any = None, full_every: int = 10, max_to_keep: int | None = 5, name: str | None = None
    ) -> None:
        """Take variables and anchors as a Saver does; default: all of the current v1 graph.

        Raises:
            ValueError: there is no table among them, or a number is below 1.
        """
        self._history = History(full_every, max_to_keep)
        items: Any = var_list
        if items is None:
            items = [*_v1.global_variables(), *_v1.get_collection(_v1.GraphKeys.SAVEABLE_OBJECTS)]
        anchors = [
            item
            for item in (items.values() if isinstance(items, Mapping) else items)
            if isinstance(item, GraphAnchor) and item.table.is_save
        ]
        deltas = {table: _DeltaRows(table) for table in dict.fromkeys(anchor.table.whole for anchor in anchors)}
        self._deltas = list(deltas.values())
        if not deltas:
            raise ValueError("IncrementalSaver has no table to save: create the tables first, or use a plain Saver")
        super().__init__(items, max_to_keep=0, name=name)
        by_anchor = {id(anchor): deltas[anchor.table.whole] for anchor in anchors}
        self._increment = _v1.train.Saver(_with_deltas(items, by_anchor), max_to_keep=0, name="increment")

    def save(
        self,
        sess: Any,
        save_path: Any,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str:
        """Write a checkpoint `<save_path>-<global_step>` and return its path; the arguments are those of a Saver.

        Raises:
            ValueError: `global_step` is missing.
        """
        if global_step is None:
            raise ValueError("IncrementalSaver.save needs a `global_step`: each checkpoint needs a name of its own")
        is_number = isinstance(global_step, Integral)
        step = int(global_step if is_number else _v1.train.global_step(sess, global_step))
        path = self._history.save(
            sess, str(save_path), step, partial(self._write, sess), write_state, latest_filename, meta_graph_suffix
        )
        self.set_last_checkpoints_with_time(self._history.known)
        if write_meta_graph:
            with sess.graph.as_default():
                self.export_meta_graph(
                    f"{path}.{meta_graph_suffix}",
                    strip_default_attrs=strip_default_attrs,
                    save_debug_info=save_debug_info,
                )
        return path

    def restore(self, sess: Any, save_path: Any) -> None:
        """Restore a checkpoint of this saver, or any other checkpoint of these variables.

        Raises:
            CheckpointError: a file is missing or damaged; the message names it.
        """
        self._history.forget_last()
        full, *deltas = chain_of(save_path)
        try:
            super().restore(sess, str(full))
            for delta in deltas:
                self._increment.restore(sess, str(delta))
        except (tf.errors.DataLossError, tf.errors.OutOfRangeError, tf.errors.NotFoundError):
            for link in (full, *deltas):
                read_all(link)
            for rows in self._deltas:
                part_names(Bundle(full), rows.table.table_name)
            raise

    def _write(self, session: Any, path: str, before: Sequence[Baseline] | None) -> list[Baseline]:
        definition = (self if before is None else self._increment).as_saver_def()
        feeds: dict[Any, Any] = {definition.filename_tensor_name: path}
        for rows, baseline in zip(self._deltas, before or [NOTHING] * len(self._deltas), strict=True):
            feeds |= rows.feeds(baseline)
        # In one run, so that the baseline of the next save is the snapshot that this save writes.
        noted, _ = session.run([[rows.noted for rows in self._deltas], definition.save_tensor_name], feeds)
        return [Baseline(*part) for part in noted]


def _with_deltas(items: Any, deltas: Mapping[int, _DeltaRows]) -> Any:
    """Return what a Saver takes, with changes in the place of rows: those of all shards of a table are one item."""
    named = items.items() if isinstance(items, Mapping) else enumerate(items)
    changes = {deltas.get(id(item), name): (name, deltas.get(id(item), item)) for name, item in named}
    return dict(changes.values()) if isinstance(items, Mapping) else [item for _, item in changes.values()]


class _DeltaRows(_tf_private.SaveableObject):  # type: ignore[misc]
    """The changes of one table: the rows that differ from a baseline, which is fed."""

    optional_restore = False

    def __init__(self, table: Table) -> None:
        self.table = table
        with table.graph.as_default(), table.scope("delta"):
            self._before = [_v1.placeholder(tf.int64, [None], name=name) for name in ("keys", "fingerprints")]
            parts = list(zip(*(self._changes(part) for part in table.parts or [table]), strict=True))
            keys, prints, *changes = (one[0] if len(one) == 1 else tf.concat(one, 0) for one in parts[:-1])
            meta = parts[-1][0]
        self.noted = (keys, prints, meta)
        anchor = (table.parts or [table])[0].variable
        specs = [
            _tf_private.SaveSpec(tensor, "", f"{table.table_name}{DELTA_JOINT}{part}", device=anchor.device)
            for part, tensor in zip(DELTA_PARTS, [*changes[:3], meta, changes[3]], strict=True)
        ]
        super().__init__(anchor, specs, f"{table.table_name}/delta")

    def _changes(self, part: Table) -> list[tf.Tensor]:
        """Return all keys of a part, their fingerprints, what has changed, removed keys, and the metadata."""
        # These are the tensors that a full save writes, so that one run gives both the same rows.
        keys, values, slots, meta = (spec.tensor for spec in part.variable.specs[1:])
        with tf.device(part.place):
            before = part.arguments.servers[0].written(*self._before) if part.arguments.servers else self._before
            changed, removed, prints = native.ops().rec_changed_rows(keys, values, slots, *before)
            return [keys, prints, *(tf.gather(rows, changed) for rows in (keys, values, slots)), removed, meta]

    def feeds(self, before: Baseline) -> dict[Any, Any]:
        """Return what to feed in order to save the changes since `before`."""
        return dict(zip(self._before, before[:2], strict=True))

    def restore(self, restored_tensors: list[tf.Tensor], restored_shapes: Any) -> tf.Operation:
        """Apply saved changes to the table's rows."""
        *rows, removed = restored_tensors

        def apply(part: Table) -> tf.Operation:
            with tf.control_dependencies([native.ops().rec_table_remove(part.handle, *part.own(removed))]):
                return native.ops().rec_table_merge(part.handle, *part.own_of_checkpoint(rows))

        return grouped(self.table.in_parts("increment", apply))
