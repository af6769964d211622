"""Reads the report, matches its tables with the checkpoint, writes the new one. Imports TensorFlow."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from migrate.checkpoint.matching import converted_tables, given_names, optimizer_of, parts_of, variable_of
from migrate.errors import MigrateError
from migrate.report.model import TableRecord
from migrate.report.serialize import read_report
from runtime import checkpoint
from runtime.checkpoint.bundle import Bundle


def move(
    source: str,
    target: str,
    report: str,
    names: Sequence[str],
    parts: Sequence[str],
    like: str | None,
    force: bool,
) -> list[checkpoint.Moved]:
    """Write the checkpoint `target` from `source` for the tables of a report; returns what became of each variable.

    Raises:
        MigrateError: a file that cannot be read, a table without a variable, or a target that is there already.
    """
    tables = converted_tables(read_report(report), report)
    given = given_names(names, tables)
    counts = parts_of(parts, tables, source)
    index = Path(target + ".index")
    if index.exists() and not force:
        raise MigrateError(f"{index} is there already; give another NEW, or --force to write over it")
    try:
        bundle = Bundle(source)
        moves = []
        for table in tables:
            named = given.get(table.name) if table.identity != "run time" else None
            variable = named or variable_of(table, bundle.shapes, bundle.path)
            moves.append(
                checkpoint.Move(table.name, variable, _trained_by(table, variable, bundle), counts[table.name])
            )
        return _written(bundle.path, target, moves, like)
    except checkpoint.CheckpointError as error:
        raise MigrateError(str(error)) from error
    except OSError as error:
        raise MigrateError(f"{target}: it cannot be written ({error.strerror}); give another NEW") from error


def _trained_by(table: TableRecord, variable: str, bundle: Bundle) -> str | None:
    """Return the optimizer whose slots to look for; a third slot tells that RMSProp was centered."""
    optimizer = optimizer_of(table)
    return "rmsprop_centered" if optimizer == "rmsprop" and f"{variable}/RMSProp_2" in bundle else optimizer


def _written(source: str, target: str, moves: list[checkpoint.Move], like: str | None) -> list[checkpoint.Moved]:
    """Write beside the target first, so that a checkpoint that is there is replaced as a whole or not at all."""
    place = Path(target)
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".migrate-", dir=place.parent) as scratch:
        done = checkpoint.move_variables(source, f"{scratch}/{place.name}", moves, like)
        parts = sorted(Path(scratch).iterdir(), key=lambda file: file.suffix == ".index")  # the index last
        for part in parts:
            part.replace(place.parent / part.name)
    return done
