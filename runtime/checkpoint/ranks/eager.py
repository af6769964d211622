"""Checkpoints of several ranks in eager mode: each rank saves what it holds, and restores what it is to hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from runtime import native
from runtime.checkpoint.bundle import read_all
from runtime.checkpoint.ranks import shares
from runtime.ranks import checkpoint_parts
from runtime.ranks.engine import RanksError
from runtime.ranks.process_group import current, parts_together
from runtime.table.create import tables
from runtime.table.eager_resource import TableResource
from runtime.table.table import Table


def save(checkpoint: tf.train.Checkpoint, prefix: str) -> str:
    """Save what all ranks hold, in eager mode; every rank must call it with the same path on a shared file system.

    Returns `prefix`. It replaces a checkpoint of that name; until all ranks are done there is none.

    Raises:
        RanksError: this is a v1 graph.
    """
    _refuse_graphs()
    engine = current()
    engine.barrier()  # other ranks may still be restoring the checkpoint of that name
    if engine.rank == 0:
        checkpoint_parts.unmark(prefix)
    engine.barrier()
    with parts_together():
        checkpoint.write(checkpoint_parts.part_of(prefix, engine.rank, engine.size))
    engine.barrier()
    if engine.rank == 0:
        checkpoint_parts.mark_whole(prefix, engine.size)
    engine.barrier()
    return prefix


def restore(checkpoint: tf.train.Checkpoint, prefix: str) -> None:
    """Restore a checkpoint of any number of ranks: all variables, and from each table the rows that this rank holds.

    All files are read before anything changes.

    Raises:
        CheckpointError: a file is missing or damaged.
        RanksError: there is no complete checkpoint of that name, or this is a v1 graph.
    """
    _refuse_graphs()
    held, parts = _tables_of(checkpoint), checkpoint_parts.parts_of(prefix)
    for part in parts:
        read_all(part)
    shares_of_tables: list[list[shares.Rows]] = [[] for _ in held]
    for part in parts:
        with parts_together():
            checkpoint.read(part).expect_partial()
        for table, rows in zip(held, shares_of_tables, strict=True):
            rows.append(shares.own_rows(table, [np.asarray(one) for one in table.snapshot()]))
    for table, rows in zip(held, shares_of_tables, strict=True):
        with table.written():
            native.ops().rec_table_import(table.handle, *shares.merged(table, rows))


def _refuse_graphs() -> None:
    if not tf.executing_eagerly():
        raise RanksError(
            "save and restore of runtime.ranks.checkpoint need eager mode: in a v1 graph, and for counted tables, use "
            "its Saver on every rank"
        )


def _tables_of(checkpoint: Any) -> list[Table]:
    """Return the eager tables that the checkpoint contains."""
    resources = {id(one) for one in tf.train.TrackableView(checkpoint).descendants() if isinstance(one, TableResource)}
    return [table for table in tables() if id(table.resource) in resources]
