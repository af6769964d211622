"""Tables in checkpoints of several ranks: each rank writes what it holds, and rank 0 merges it, as in Rec SDK.

So a checkpoint does not depend on the number of ranks. All ranks must have access to its directory.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
from numpy.typing import NDArray

from runtime.checkpoint import TableRows
from runtime.checkpoint.live_tables import replace_rows
from runtime.checkpoint.ranks import shares
from runtime.checkpoint.rows import PARTS
from runtime.compat.mx_rec.checkpoint import layout
from runtime.ranks import RanksError, current
from runtime.ranks.process_group import parts_together
from runtime.table.table import Table

#: Returns the items of tables, given their rows.
Contents = Callable[[Sequence[Table], Sequence[TableRows]], Mapping[str, Mapping[str, NDArray[Any]]]]


def write(directory: Path, tables: Sequence[Table], rows: Sequence[TableRows], contents: Contents) -> None:
    """Write the rows of tables of all ranks: each rank calls it with the rows that it holds, and waits.

    Raises:
        RanksError: another rank has written to another path.
    """
    engine = current()
    if engine.size == 1:
        layout.write_tables(directory, contents(tables, rows))
        return
    layout.write_tables(_part(directory, engine.rank), contents(tables, rows))
    engine.barrier()
    if engine.rank == 0:
        written = [_part(directory, rank) for rank in range(engine.size)]
        missing = [rank for rank, one in enumerate(written) if not one.is_dir()]
        if missing:
            raise RanksError(
                f"rank {missing[0]} has not written its rows beside {directory}: let all ranks save to the same path, "
                "on a shared file system"
            )
        together = [_together(table, [one / table.table_name for one in written]) for table in tables]
        layout.write_tables(directory, contents(tables, together))
        for part in written:
            shutil.rmtree(part)
    engine.barrier()


def held(table: Table, rows: TableRows) -> TableRows:
    """Return the rows of a checkpoint that this rank holds, with the counters of its keys."""
    if current().size == 1:
        return rows
    return TableRows(*shares.merged(table, [shares.own_rows(table, _parts_of(rows))]))


def replaced(table: Table, rows: Sequence[tf.Tensor]) -> tf.Operation | None:
    """Replace this rank's rows of a table by `rows`, from `held`: keys, values, slots and metadata."""
    with parts_together():
        return replace_rows(table, rows)


def _together(table: Table, folders: Sequence[Path]) -> TableRows:
    read = (layout.read_table(folder, table.dim, table.seed, table.expands) for folder in folders)
    return TableRows(*shares.merged(table, [_parts_of(rows) for rows in read], whole=True))


def _parts_of(rows: TableRows) -> shares.Rows:
    return tuple(getattr(rows, part) for part in PARTS)


def _part(directory: Path, rank: int) -> Path:
    return directory.with_name(f"{directory.name}.rank-{rank}")
