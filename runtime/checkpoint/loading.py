"""Checks and reads checkpoints without a graph: full ones, and increments with those that they build on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from runtime.checkpoint.bundle import Bundle, CheckpointError, read_all
from runtime.checkpoint.delta import Delta, apply_delta
from runtime.checkpoint.increments import chain_of
from runtime.checkpoint.rows import TableRows, delta_names, delta_part_names, part_names, read_rows, table_names


def check(path: str | Path) -> None:
    """Read a checkpoint, with all that an increment builds on, and verify checksums.

    Raises:
        CheckpointError: a file is missing, truncated or changed; the message names it.
    """
    for link in chain_of(Bundle(path).path):
        if delta_names(Bundle(link)) and link == chain_of(link)[0]:
            part_names(Bundle(link), "")  # raises if the list of increments is missing
        read_all(link)


def latest_complete(directory: str | Path) -> str | None:
    """Return the prefix of the newest checkpoint of `directory` that `check` accepts; None if there is none."""
    indexes = sorted(Path(directory).glob("*.index"), key=lambda file: file.stat().st_mtime_ns, reverse=True)
    for index in indexes:
        prefix = str(index).removesuffix(".index")
        try:
            check(prefix)
        except CheckpointError:
            continue
        return prefix
    return None


def load_rows(path: str | Path, table: str) -> TableRows:
    """Read the rows of `table` from the checkpoint with prefix `path`, or the latest one of a directory.

    Raises:
        CheckpointError: there is no checkpoint or no such table, or a file is damaged.
    """
    ((_, rows),) = load_tables(path, [table])
    return rows


def load_tables(path: str | Path, names: Iterable[str] | None = None) -> Iterator[tuple[str, TableRows]]:
    """Yield (name, rows) of each table in a checkpoint (default: all tables), reading one table at a time.

    Raises:
        CheckpointError: see `load_rows`; also if the checkpoint has no table.
    """
    full, *deltas = [Bundle(link) for link in chain_of(Bundle(path).path)]
    wanted = table_names(full) if names is None else list(names)
    if not wanted:
        part_names(full, "")  # raises with the reason
    return ((name, _merged(full, deltas, name)) for name in wanted)


def _merged(full: Bundle, deltas: Iterable[Bundle], table: str) -> TableRows:
    rows = read_rows(full, table)
    for bundle in deltas:
        *parts, removed = (bundle.read(name) for name in delta_part_names(bundle, table).values())
        rows = apply_delta(rows, Delta(TableRows(*parts), removed))
    return rows
