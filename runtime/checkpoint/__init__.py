"""Checkpoints beyond the Saver's: warm start, numpy files, increments, and integrity checks."""

from __future__ import annotations

from runtime.checkpoint import unrestored as _unrestored  # noqa: F401 - importing it lets Savers say what is wrong
from runtime.checkpoint import variables_from_tables as _reads  # noqa: F401 - importing it extends Savers
from runtime.checkpoint import warm_start_scopes as _scopes  # noqa: F401 - importing it extends warm starts
from runtime.checkpoint.bundle import CheckpointError
from runtime.checkpoint.incremental import IncrementalSaver
from runtime.checkpoint.loading import check, latest_complete, load_rows
from runtime.checkpoint.moves.tables_to_variables import Back, MovedBack, move_tables
from runtime.checkpoint.moves.variables_to_tables import Move, Moved, move_variables
from runtime.checkpoint.numpy_files import export_numpy, read_numpy
from runtime.checkpoint.object_based import IncrementalCheckpoint
from runtime.checkpoint.restoring import restore_table
from runtime.checkpoint.rows import TableRows
from runtime.checkpoint.warm_start_variables import warm_start

__all__ = [
    "Back",
    "CheckpointError",
    "IncrementalCheckpoint",
    "IncrementalSaver",
    "Move",
    "Moved",
    "MovedBack",
    "TableRows",
    "check",
    "export_numpy",
    "latest_complete",
    "load_rows",
    "move_tables",
    "move_variables",
    "read_numpy",
    "restore_table",
    "warm_start",
]
