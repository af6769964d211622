"""Checkpoints of tables alone, each under its name: any program with tables of these names can read them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tensorflow as tf

from runtime import native
from runtime.checkpoint.loading import load_tables
from runtime.checkpoint.ranks import eager, shares
from runtime.checkpoint.rows import TableRows
from runtime.ranks import checkpoint_parts
from runtime.ranks.engine import RanksError
from runtime.table.anchor import Anchor
from runtime.table.table import Table


def save_tables(folder: str, tables: Any) -> None:
    """Save tables with their slots in a directory, in eager mode; every rank must call it with the same path.

    Args:
        folder: the directory, on a file system that all ranks share; created if it does not exist.
        tables: a table or a list of tables; a table's `variable` may take its place.

    Raises:
        TypeError: one is no table.
        ValueError: two have the same name.
        RanksError: this is a v1 graph.
    """
    for name, table in _named(tables).items():
        eager.save(tf.train.Checkpoint(table=table), str(Path(folder) / name))


def restore_tables(folder: str, tables: Any, slots: bool = True) -> None:
    """Restore tables that `save_tables` saved, by their names and by any number of ranks; every rank must call it.

    Args:
        folder: the directory.
        tables: a table or a list of tables, which may be fewer than were saved.
        slots: replace rows and slots by the saved ones. False: write the saved rows alone, which keeps slots, and
            keeps rows that were not saved.

    Raises:
        TypeError: one is no table.
        ValueError: two have the same name, or a table has another width than the saved one.
        RanksError: a table was not saved there by all ranks, or this is a v1 graph.
    """
    # Read and check all files before any table changes.
    stored = [(table, _read(str(Path(folder) / name), table)) for name, table in _named(tables).items()]
    for table, parts in stored:
        if slots:
            rows = [shares.own_rows(table, (one.keys, one.values, one.slots, one.meta)) for one in parts]
            with table.written():
                native.ops().rec_table_import(table.handle, *shares.merged(table, rows))
        else:
            for part in parts:
                table.import_rows(part.keys, part.values)


def _read(prefix: str, table: Table) -> list[TableRows]:
    parts = [rows for part in checkpoint_parts.parts_of(prefix) for _, rows in load_tables(part)]
    width = parts[0].dim
    if width != table.dim:
        raise ValueError(
            f"the rows of the table `{table.table_name}` in {prefix} have {width} values: create it with `dim` "
            f"{width}, not {table.dim}"
        )
    return parts


def _named(tables: Any) -> dict[str, Table]:
    """Return tables by their names, after checks."""
    if not tf.executing_eagerly():
        raise RanksError("save_tables and restore_tables need eager mode: in a v1 graph use the Saver on every rank")
    listed = list(tables) if isinstance(tables, Iterable) and not isinstance(tables, (Table, tf.Variable)) else [tables]
    by_name: dict[str, Table] = {}
    for item in listed:
        table = item.table if isinstance(item, Anchor) else item
        if not isinstance(table, Table):
            raise TypeError(f"save_tables and restore_tables take tables, not {type(item).__name__}: leave it out")
        if table.table_name in by_name:
            raise ValueError(f"two tables are called `{table.table_name}`: create them with different names")
        by_name[table.table_name] = table
    return by_name
