"""Checkpoints of several ranks, which any number of ranks reads.

Each rank writes an ordinary checkpoint of what it holds, `<prefix>.rank-<r>-of-<n>`; a small file `<prefix>.ranks` says
that all are there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from runtime import native
from runtime.checkpoint.seen import meta_of_rank
from runtime.eager import TableResource
from runtime.ranks import shared
from runtime.ranks.engine import RanksError
from runtime.ranks.starting import current, parts_together
from runtime.table import Table, tables

_MARK = ".ranks"


def save(checkpoint: tf.train.Checkpoint, prefix: str) -> str:
    """Write what all ranks hold, in eager mode; every rank calls it with the same path, which all can reach.

    Returns `prefix`. A checkpoint of that name is replaced; until all ranks are done there is none.
    """
    engine = current()
    mark = Path(prefix + _MARK)
    mark.parent.mkdir(parents=True, exist_ok=True)
    if engine.rank == 0:
        mark.unlink(missing_ok=True)
    engine.barrier()
    with parts_together():
        checkpoint.write(_part(prefix, engine.rank, engine.size))
    engine.barrier()
    if engine.rank == 0:
        beside = mark.with_name(mark.name + ".new")
        beside.write_text(json.dumps({"ranks": engine.size}) + "\n", encoding="utf-8")
        beside.replace(mark)
    engine.barrier()
    return prefix


def restore(checkpoint: tf.train.Checkpoint, prefix: str) -> None:
    """Read what any number of ranks wrote: variables whole, and of each table the rows that this rank is to hold.

    Raises:
        RanksError: there is no whole checkpoint of that name.
    """
    held = _tables_of(checkpoint)
    found: list[list[tuple[NDArray[Any], ...]]] = [[] for _ in held]
    for part in _parts(prefix):
        with parts_together():
            checkpoint.read(part).expect_partial()
        for table, rows in zip(held, found, strict=True):
            if not rows or table.placement != "replicated":
                rows.append(_own(table))
    for table, rows in zip(held, found, strict=True):
        # One without rows may never have been trained, and says nothing of slots.
        rows = sorted((one for one in rows if len(one[0])), key=lambda one: -one[2].shape[1]) or rows
        keys, values, slots = (np.concatenate(parts) for parts in zip(*(one[:3] for one in rows), strict=True))
        engine = current()
        shared_by = (engine.rank, engine.size) if table.placement == "distributed" else (0, 1)
        meta = meta_of_rank([one[3] for one in rows], *shared_by)
        with table.written():
            native.ops().rec_table_import(table.handle, keys, values, slots, meta)


def latest(folder: str) -> str | None:
    """Return the prefix of the newest whole checkpoint of a folder, or None."""
    marks = sorted(Path(folder).glob(f"*{_MARK}"), key=lambda mark: mark.stat().st_mtime_ns)
    return str(marks[-1]).removesuffix(_MARK) if marks else None


def _part(prefix: str, rank: int, size: int) -> str:
    return f"{prefix}.rank-{rank}-of-{size}"


def _parts(prefix: str) -> list[str]:
    try:
        size = int(json.loads(Path(prefix + _MARK).read_text(encoding="utf-8"))["ranks"])
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise RanksError(
            f"there is no whole checkpoint {prefix}: {prefix}{_MARK} cannot be read, which `save` writes last; choose "
            "another, such as latest(folder) of runtime.ranks.checkpoint"
        ) from error
    return [_part(prefix, rank, size) for rank in range(size)]


def _tables_of(checkpoint: Any) -> list[Table]:
    """Return the eager tables that the checkpoint reaches."""
    found = {id(one) for one in tf.train.TrackableView(checkpoint).descendants() if isinstance(one, TableResource)}
    return [table for table in tables() if id(table.resource) in found]


def _own(table: Table) -> tuple[NDArray[Any], ...]:
    """Return keys, values and slots of the table's rows that this rank is to hold, and the table's meta data."""
    keys, values, slots, meta = (np.asarray(part) for part in table.snapshot())
    mine = shared.held_here(keys, table.placement)
    return keys[mine], values[mine], slots[mine], meta
