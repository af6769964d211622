"""Reads the rows of tables from checkpoints of Rec SDK or of a program written for it, and writes such files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from runtime.checkpoint import CheckpointError, TableRows
from runtime.checkpoint import load_rows as load_from_bundle
from runtime.checkpoint.bundle import Bundle
from runtime.checkpoint.delta import Delta, apply_delta
from runtime.checkpoint.rows import PARTS
from runtime.checkpoint.rows import table_names as names_in_bundle
from runtime.compat.mx_rec.checkpoint import layout, rank_parts
from runtime.compat.mx_rec.checkpoint.model_index import ModelIndex
from runtime.table.table import Table


def load_rows(path: str | Path, table: str, dim: int | None = None, seed: int = 0, expands: bool = False) -> TableRows:
    """Read the rows of `table` from the checkpoint `path` (prefix of its dense part), or the latest of a directory.

    An increment is read together with what it builds on. A checkpoint without Rec SDK's directory is read as this
    runtime's own. For files of Rec SDK, `seed` is the seed for new rows, and `expands` says that they are trained by
    address.

    Raises:
        FileExistsError: there is no such table (Rec SDK's error type).
        CheckpointError: a file is missing or damaged, or has another width than `dim`.
    """
    directories = directories_of(path)
    if not directories:
        return _own(path, table)
    base, *deltas = directories
    rows = layout.read_table(base / table, dim, seed, expands)
    for directory in deltas:
        changed = layout.read_table(directory / table, rows.dim, seed, expands)
        if len(changed.keys) or (directory / table / layout.REMOVED).is_dir():
            rows = _with_changes(rows, Delta(changed, layout.read_removed(directory / table)))
    return rows


def save_rows(path: str | Path, tables: Mapping[str, TableRows]) -> Path:
    """Write the rows of tables, by name, for the checkpoint `path`; return their directory."""
    directory = layout.directory_of(path)
    layout.write_tables(directory, {name: layout.items_of(rows) for name, rows in tables.items()})
    return directory


def restore_table(table: Table, path: str | Path, name: str | None = None) -> tf.Operation | None:
    """Replace the rows of a runtime table by those of `load_rows`; `name` is the table's name in the checkpoint.

    In a v1 graph, return an op that reads the files when it runs and also initializes the table.

    Raises:
        FileExistsError, CheckpointError: see `load_rows`; in a v1 graph tf.errors.UnknownError when the op runs.
    """
    if table.graph is not None:
        with table.scope("restore_table"):
            return rank_parts.replaced(table, filling(table, path, name))
    rows = rank_parts.held(table, load_rows(path, name or table.table_name, table.dim, table.seed))
    return rank_parts.replaced(table, [tf.convert_to_tensor(getattr(rows, part)) for part in PARTS])


def filling(table: Table, path: str | Path, name: str | None = None) -> list[tf.Tensor]:
    """Return this rank's keys, values, slots and metadata of a table; a checkpoint is read when they are evaluated."""
    wanted, facts = name or table.table_name, (table.dim, table.seed, table.arguments.expands)

    def read() -> list[Any]:
        rows = rank_parts.held(table, load_rows(path, wanted, *facts))
        return [getattr(rows, part) for part in PARTS]

    parts: list[tf.Tensor] = tf.numpy_function(read, [], [tf.int64, tf.float32, tf.float32, tf.int64])
    shapes: tuple[list[int | None], ...] = ([None], [None, table.dim], [None, None], [None])
    for part, shape in zip(parts, shapes, strict=True):
        part.set_shape(shape)
    return parts


def directories_of(path: str | Path) -> list[Path]:
    """Return the directories with the tables of a checkpoint; for an increment the base and the increments up to it.

    `path` is the prefix of the dense part, or a directory, whose latest checkpoint is used. Empty if there is none.

    Raises:
        CheckpointError: what an increment builds on is missing.
    """
    prefix = _latest(path)
    base, delta = layout.directory_of(prefix), layout.directory_of(prefix, delta=True)
    if base.is_dir() or not delta.is_dir():
        return [base] if base.is_dir() else []
    chain = ModelIndex.of(prefix).chain(prefix.name)
    missing: list[object] = [one for one in chain if not one.is_dir()]
    missing = missing or ([] if chain else ["model_index.json or its entry"])
    if missing:
        raise CheckpointError(f"the increment {delta} builds on {missing[0]}, which is missing: restore another")
    return chain


def table_names(path: str | Path) -> list[str]:
    """Return the names of the tables of a checkpoint, as `load_rows` finds them.

    Raises:
        CheckpointError: there is no such checkpoint, or what an increment builds on is missing.
    """
    directories = directories_of(path)
    if not directories:
        return names_in_bundle(Bundle(_latest(path)))
    return sorted({folder.name for one in directories for folder in one.iterdir() if folder.is_dir()})


def _latest(path: str | Path) -> Path:
    if not Path(path).is_dir():
        return Path(path)
    latest = tf.train.latest_checkpoint(str(path))
    if latest is None:
        raise CheckpointError(f"{path} holds no checkpoint: give the prefix of one, or a training's directory")
    return Path(latest)


def _own(path: str | Path, table: str) -> TableRows:
    try:
        return load_from_bundle(path, table)
    except CheckpointError as error:
        raise FileExistsError(
            f"{layout.directory_of(path)} does not exist: restore a checkpoint that was saved with the table `{table}` "
            f"(nor is it in the checkpoint itself: {error})"
        ) from error


def _with_changes(rows: TableRows, delta: Delta) -> TableRows:
    """Return rows after an increment; rows without its optimizer's slots only get those in the increment."""
    width = delta.rows.slots.shape[1]
    if rows.slots.shape[1] == width:
        return apply_delta(rows, delta)
    stay = rows.take(~np.isin(rows.keys, np.concatenate([delta.rows.keys, delta.removed])))
    if len(stay.keys):
        raise CheckpointError(
            f"an increment has slots of the optimizer {delta.rows.optimizer}, but builds on rows of {rows.optimizer}: "
            "restore the base checkpoint, or an earlier increment"
        )
    return delta.rows
