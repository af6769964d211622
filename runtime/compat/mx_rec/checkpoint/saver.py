"""`tf.compat.v1.train.Saver` as Rec SDK changes it: tables are in directories of their own beside the checkpoint."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import _validation
from runtime.checkpoint import TableRows
from runtime.checkpoint.live_tables import snapshot_tensors
from runtime.checkpoint.rows import PARTS
from runtime.compat.mx_rec.checkpoint import layout, overwrite, rank_parts
from runtime.compat.mx_rec.checkpoint.increments import Increments, contents
from runtime.compat.mx_rec.checkpoint.model_index import BASE, DELTA
from runtime.compat.mx_rec.checkpoint.table_files import load_rows
from runtime.compat.mx_rec.embedding.sparse_embedding import BaseSparseEmbedding
from runtime.compat.mx_rec.state import ConfigInitializer
from runtime.ranks import current
from runtime.table.anchor import GraphAnchor

v1: Any = tf.compat.v1
_log = logging.getLogger("runtime")


class Saver(v1.train.Saver):  # type: ignore[misc]
    """TensorFlow's Saver, except that tables are saved to and restored from `sparse-<prefix>`.

    After `init(is_incremental_checkpoint=True)` it also writes increments, to `delta-sparse-<prefix>`.
    """

    #: Whether tables are saved separately, as in Rec SDK.
    splits = True
    _is_built: bool
    _var_list: Any
    _allow_empty: bool
    _pad_step_number: bool
    saver_def: Any

    def __init__(self, *args: Any, fid_version: int = 0, **kwargs: Any) -> None:
        """Take the arguments of TensorFlow's."""
        del fid_version
        self._tables: list[BaseSparseEmbedding] = []
        self._restoring: dict[str, tuple[list[Any], Any]] = {}
        self._increments: Increments | None = None
        #: The default kind of checkpoint; None for one outside of any series.
        self.kind: str | None = None
        super().__init__(*args, **kwargs)

    def build(self) -> None:
        """Create the ops, also those of tables: the graph of a session with hooks is final before it saves."""
        if self.splits and not self._is_built and self.saver_def is None:
            items = self._var_list
            if items is None:
                items = [*v1.global_variables(), *v1.get_collection(v1.GraphKeys.SAVEABLE_OBJECTS)]
            listed = list(items.values() if isinstance(items, Mapping) else items)
            self._tables = [one.table for one in listed if _is_table(one) and one.table.is_save]
            if any(map(_is_table, listed)):
                self._allow_empty = True
            self._var_list = (
                {name: one for name, one in items.items() if not _is_table(one)}
                if isinstance(items, Mapping)
                else [one for one in items if not _is_table(one)]
            )
            for table in self._tables:
                snapshot_tensors(table)
                with tf.control_dependencies(None), table.scope("restore"):
                    shapes: tuple[Any, ...] = ([None], [None, table.dim], [None, None], [None])
                    types = (tf.int64, tf.float32, tf.float32, tf.int64)
                    fed = [v1.placeholder(dtype, shape) for dtype, shape in zip(types, shapes, strict=True)]
                    self._restoring[table.table_name] = fed, rank_parts.replaced(table, fed)
            if self._tables and _is_incremental():
                self._increments = Increments(self._tables)
        super().build()

    def save(
        self,
        sess: Any,
        save_path: Any,
        global_step: Any = None,
        latest_filename: Any = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
        is_incremental_checkpoint: bool = False,
        save_delta: bool = False,
    ) -> Any:
        """Save tables and variables; return the path of the variables' checkpoint.

        The tables are complete before the checkpoint appears. All ranks must call it; rank 0 writes the variables. With
        `save_delta`, only rows that changed since this session's last save are written, or all rows if there was none.

        Raises:
            ValueError: a path, step or name has a wrong type or range, or an increment lacks the settings of `init`.
        """
        save_path = str(save_path) if isinstance(save_path, Path) else save_path
        _validation.text("save_path", save_path, 1024)
        if latest_filename is not None:
            _validation.text("latest_filename", latest_filename, 50)
        if isinstance(global_step, str):
            global_step = sess.graph.as_graph_element(global_step)
        if global_step is not None and not isinstance(global_step, (int, np.integer)):
            global_step = int(sess.run(global_step))
        if global_step is not None:
            global_step = _validation.integer("global_step", global_step, 0)
        kind = self.kind
        if kind is None and (_validation.boolean("save_delta", save_delta) or is_incremental_checkpoint):
            kind = DELTA if save_delta else BASE
        path, engine = Path(save_path + self._number(global_step)), current()
        if self._tables:
            self._write_tables(sess, path, kind, global_step, (latest_filename, meta_graph_suffix))
        if engine.rank > 0 and self._tables:
            engine.barrier()  # until rank 0 has written the variables
            return str(path)
        before = list(self.last_checkpoints)
        settings = (meta_graph_suffix, write_meta_graph, write_state, strip_default_attrs, save_debug_info)
        saved = super().save(sess, save_path, global_step, latest_filename, *settings)
        if not write_state:
            overwrite.name(path, latest_filename)
        elif kind is not None and self._increments is not None:
            self._increments.tidy(path)
        for gone in set(before) - set(self.last_checkpoints) - {saved}:
            # Except those that keep_checkpoint_every_n_hours keeps, and those that increments build on.
            if not v1.train.checkpoint_exists(gone) and (self._increments is None or not self._increments.has(gone)):
                shutil.rmtree(layout.directory_of(gone), ignore_errors=True)
        if self._tables:
            overwrite.drop(path, latest_filename, meta_graph_suffix)
            engine.barrier()
        return str(path) if saved is None else saved

    def _number(self, step: int | None) -> str:
        return "" if step is None else f"-{step:08d}" if self._pad_step_number else f"-{step}"

    def _write_tables(
        self, session: Any, path: Path, kind: str | None, step: int | None, names: tuple[str | None, str]
    ) -> None:
        """Write the tables of the checkpoint `path`; `names` are the state file's name and the meta graphs' suffix."""
        increments = None if kind is None else self._required_increments(step)
        if current().rank == 0:
            overwrite.set_aside(path, *names)
        if increments is not None and kind is not None and step is not None:
            _note(increments.write(session, path, kind, step))
            return
        snapshots = session.run([snapshot_tensors(table) for table in self._tables])
        directory = layout.directory_of(path)
        rank_parts.write(directory, self._tables, [TableRows(*one) for one in snapshots], contents)
        _note(directory)

    def _required_increments(self, step: int | None) -> Increments:
        if self._increments is None or not _is_incremental():
            raise ValueError(
                "this Saver writes no increments: call init(is_incremental_checkpoint=True, "
                "save_checkpoint_due_time=..., save_delta_checkpoints_secs=...) before it is created"
            )
        if step is None:
            raise ValueError(
                "an incremental checkpoint needs a `global_step`, as each checkpoint needs a name of its own: give one"
            )
        return self._increments

    def restore(self, sess: Any, save_path: Any) -> None:
        """Restore variables and tables; an increment together with what it builds on.

        After `init(is_incremental_checkpoint=True, restore_model_version=step)`, the checkpoint of that step is
        restored.

        Raises:
            ValueError: the path is missing, or `model_index.json` has no such step.
            FileExistsError: there are no tables beside the checkpoint.
            CheckpointError: they are damaged, or have another width.
        """
        path = Path(_validation.text("save_path", str(save_path) if isinstance(save_path, Path) else save_path, 1024))
        if self._increments is not None:
            path = self._increments.chosen(path, self._number)
        read = {
            table.table_name: rank_parts.held(
                table, load_rows(path, table.table_name, table.dim, table.seed, table.expands)
            )
            for table in self._tables
        }
        super().restore(sess, str(path))  # no effect without variables
        for name, rows in read.items():
            fed, op = self._restoring[name]
            sess.run(op, dict(zip(fed, (getattr(rows, part) for part in PARTS), strict=True)))
        if self._increments is not None:
            self._increments.restored(sess, path)


def _is_incremental() -> bool:
    return ConfigInitializer._instance is not None and ConfigInitializer._instance.is_incremental_checkpoint


def _note(directory: Path) -> None:
    if ConfigInitializer._instance is not None:
        ConfigInitializer._instance.train_params_config.sparse_dir = str(directory)


class InnerSaver(Saver):
    """The Saver that TensorFlow creates itself: this one for sessions, TensorFlow's own for a SavedModel."""

    def __init__(self, var_list: Any = None, *args: Any, **kwargs: Any) -> None:
        """Take the arguments of TensorFlow's; only a SavedModel gives a list of variables."""
        self.splits = var_list is None
        super().__init__(var_list, *args, **kwargs)


def for_saved_model(saver: Any) -> Any:
    """Return the Saver to write a SavedModel with; never one that saves tables elsewhere."""
    return None if isinstance(saver, Saver) and saver.splits else saver


def _is_table(item: Any) -> bool:
    return isinstance(item, GraphAnchor) and isinstance(item.table, BaseSparseEmbedding)


def export(table_list: Any = None) -> None:
    """Write `<table>/key-emb.npy`, a dict from keys to rows, for tables of the checkpoint that was saved last.

    Args:
        table_list: names or tables; default: all. Unknown names are skipped with a warning.

    Raises:
        ValueError: the list is empty, or has items that are not names.
        FileNotFoundError: nothing was saved.
    """
    directory = Path(ConfigInitializer.get_instance().train_params_config.sparse_dir)
    if table_list is not None:
        _validation.kind("table_list", table_list, list, "a list of str or None")
        if not table_list:
            raise ValueError("`table_list` is empty: give names of tables, or None for all")
        for name in table_list:
            _validation.text("table_list", name)
    if directory == Path() or not directory.is_dir():
        raise FileNotFoundError("export finds no checkpoint: save one with tf.compat.v1.train.Saver first")
    if current().rank > 0:
        return  # rank 0 writes what all ranks have saved
    there = {folder.name: folder for folder in sorted(directory.iterdir()) if folder.is_dir()}
    for name in there if table_list is None else table_list:
        if name not in there:
            _log.warning("export skips the table %r, which is not in %s", name, directory)
            continue
        keys, rows = layout.read_pairs(there[name])
        pairs: Any = dict(zip(keys.tolist(), rows, strict=True))
        np.save(there[name] / "key-emb.npy", pairs, allow_pickle=True)
