"""Reads the rows of tables from checkpoints of Rec SDK or of a program written for it, and writes such files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf

from runtime.checkpoint import CheckpointError, TableRows
from runtime.checkpoint import load_rows as load_from_bundle
from runtime.checkpoint.bundle import Bundle
from runtime.checkpoint.rows import PARTS
from runtime.checkpoint.rows import table_names as names_in_bundle
from runtime.compat.mx_rec.checkpoint import layout, rank_parts
from runtime.table.table import Table

__all__ = ["filling", "load_rows", "restore_table", "save_rows", "table_names"]


def load_rows(path: str | Path, table: str, dim: int | None = None, seed: int = 0, expands: bool = False) -> TableRows:
    """Read the rows of `table` from the checkpoint `path` (prefix of its dense part), or the latest of a directory.

    A checkpoint without Rec SDK's directory is read as this runtime's own. For files of Rec SDK, `seed` is the seed for
    new rows, and `expands` says that they are trained by address.

    Raises:
        FileExistsError: there is no such table (Rec SDK's error type).
        CheckpointError: a file is missing or damaged, or has another width than `dim`, or it is an increment.
    """
    directory = _directory_of(path)
    return _own(path, table) if directory is None else layout.read_table(directory / table, dim, seed, expands)


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

    found: list[tf.Tensor] = tf.numpy_function(read, [], [tf.int64, tf.float32, tf.float32, tf.int64])
    shapes: tuple[list[int | None], ...] = ([None], [None, table.dim], [None, None], [None])
    for part, shape in zip(found, shapes, strict=True):
        part.set_shape(shape)
    return found


def _directory_of(path: str | Path) -> Path | None:
    """Return the directory with the tables of a checkpoint, or None if there is none.

    `path` is the prefix of the dense part, or a directory, whose latest checkpoint is used.

    Raises:
        CheckpointError: it is an increment.
    """
    directory = layout.directory_of(_latest(path))
    increment = directory.with_name(f"delta-{directory.name}")
    if increment.is_dir() and not directory.is_dir():
        raise CheckpointError(f"{increment} is an increment, which cannot be read: restore a complete checkpoint")
    return directory if directory.is_dir() else None


def table_names(path: str | Path) -> list[str]:
    """Return the names of the tables of a checkpoint, as `load_rows` finds them.

    Raises:
        CheckpointError: there is no such checkpoint, or it is an increment.
    """
    directory = _directory_of(path)
    if directory is None:
        return names_in_bundle(Bundle(_latest(path)))
    return sorted(folder.name for folder in directory.iterdir() if folder.is_dir())


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
