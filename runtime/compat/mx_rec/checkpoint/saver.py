"""`tf.compat.v1.train.Saver` as Rec SDK changes it: tables are in directories of their own beside the checkpoint."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from runtime import _validation
from runtime.checkpoint import TableRows
from runtime.checkpoint.live_tables import snapshot_tensors
from runtime.checkpoint.rows import PARTS
from runtime.compat.mx_rec.checkpoint import admission_files, layout, overwrite, rank_parts
from runtime.compat.mx_rec.checkpoint.table_files import load_rows
from runtime.compat.mx_rec.embedding.sparse_embedding import BaseSparseEmbedding
from runtime.compat.mx_rec.state import ConfigInitializer
from runtime.ranks import current
from runtime.table.anchor import GraphAnchor

__all__ = ["InnerSaver", "Saver", "export", "for_saved_model"]

v1: Any = tf.compat.v1
_log = logging.getLogger("runtime")


class Saver(v1.train.Saver):  # type: ignore[misc]
    """TensorFlow's Saver, except that tables are saved to and restored from `sparse-<prefix>`."""

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

        The tables are complete before the checkpoint appears. All ranks must call it; rank 0 writes the variables.

        Raises:
            ValueError: a path, step or name has a wrong type or range, or an increment is wanted.
        """
        if is_incremental_checkpoint or save_delta:
            raise ValueError(
                "Saver.save writes complete checkpoints alone: leave out is_incremental_checkpoint and save_delta"
            )
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
        path, engine = Path(save_path + self._number(global_step)), current()
        if self._tables:
            self._write_tables(sess, path, latest_filename, meta_graph_suffix)
        if engine.rank > 0 and self._tables:
            engine.barrier()  # until rank 0 has written the variables
            return str(path)
        before = list(self.last_checkpoints)
        settings = (meta_graph_suffix, write_meta_graph, write_state, strip_default_attrs, save_debug_info)
        saved = super().save(sess, save_path, global_step, latest_filename, *settings)
        if not write_state:
            overwrite.name(path, latest_filename)
        for gone in set(before) - set(self.last_checkpoints) - {saved}:
            if not v1.train.checkpoint_exists(gone):  # keep_checkpoint_every_n_hours keeps some
                shutil.rmtree(layout.directory_of(gone), ignore_errors=True)
        if self._tables:
            overwrite.drop(path, latest_filename, meta_graph_suffix)
            engine.barrier()
        return str(path) if saved is None else saved

    def _number(self, step: int | None) -> str:
        return "" if step is None else f"-{step:08d}" if self._pad_step_number else f"-{step}"

    def _write_tables(self, session: Any, path: Path, state_file: str | None, meta_suffix: str) -> None:
        """Write the tables of the checkpoint `path`, and set aside one that has its name."""
        if current().rank == 0:
            overwrite.set_aside(path, state_file, meta_suffix)
        found = session.run([snapshot_tensors(table) for table in self._tables])
        directory = layout.directory_of(path)
        rank_parts.write(directory, self._tables, [TableRows(*one) for one in found], _contents)
        if ConfigInitializer._instance is not None:
            ConfigInitializer._instance.train_params_config.sparse_dir = str(directory)

    def restore(self, sess: Any, save_path: Any) -> None:
        """Restore variables and tables.

        Raises:
            ValueError: the path is missing.
            FileExistsError: there are no tables beside the checkpoint.
            CheckpointError: they are damaged, or have another width.
        """
        path = Path(_validation.text("save_path", str(save_path) if isinstance(save_path, Path) else save_path, 1024))
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


def _contents(tables: Iterable[BaseSparseEmbedding], rows: Iterable[TableRows]) -> dict[str, dict[str, NDArray[Any]]]:
    """Return the items of tables, by the names of the tables."""
    optimizer = ConfigInitializer.get_instance().optimizer_config.optimizer_instance
    rule = "none" if optimizer is None else optimizer.rule
    return {
        table.table_name: {**layout.items_of(one, rule), **admission_files.items_of(one.meta, table.admission)}
        for table, one in zip(tables, rows, strict=True)
    }


class InnerSaver(Saver):
    """The Saver that TensorFlow creates itself: this one for sessions, TensorFlow's own for a SavedModel."""

    def __init__(self, var_list: Any = None, *args: Any, **kwargs: Any) -> None:
        """Take the arguments of TensorFlow's; only a SavedModel gives a list of variables."""
        self.splits = var_list is None
        super().__init__(var_list, *args, **kwargs)


def for_saved_model(given: Any) -> Any:
    """Return the Saver to write a SavedModel with; never one that saves tables elsewhere."""
    return None if isinstance(given, Saver) and given.splits else given


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
