"""The tables that a checkpoint holds, where a report does not name them. Imports TensorFlow."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from fnmatch import fnmatchcase

from migrate.errors import MigrateError
from migrate.report.model import Location, State, TableRecord
from runtime.checkpoint.bundle import Bundle
from runtime.checkpoint.rows import table_names
from runtime.storage.buckets import Buckets

#: What a name ends with at run time behind that of the report: of an embedding column, or of a variable.
_ENDS = ("_embedding_weights", "")


def tables_of(bundle: Bundle) -> list[TableRecord]:
    """Return all tables of a checkpoint, as those of a program that a hook rewrote, which has no report.

    Raises:
        MigrateError: it has none.
    """
    names = table_names(bundle)
    if not names:
        raise MigrateError(f"{bundle.path}: has no rows of a table; give a checkpoint of the converted program")
    where = Location(bundle.path, 0, 0, "")
    return [
        TableRecord(name, where, State.APPLIED, None, str(bundle.shapes[f"{name}-values"][1]), "", "", "")
        for name in names
    ]


def named_as_in(bundle: Bundle | None, tables: Sequence[TableRecord]) -> list[TableRecord]:
    """Return the tables of a report, and for those that get their names at run time all others of a checkpoint.

    Args:
        bundle: a checkpoint that the converted program wrote; None: the tables stay without names.
        tables: those of the report.

    Raises:
        MigrateError: the report does not tell how they were trained, or in which order their rows are.
    """
    unnamed = [table for table in tables if table.identity == "run time"]
    if bundle is None or not unnamed:
        return list(tables)
    optimizers = {table.optimizer for table in unnamed}
    if len(optimizers) > 1 or any(table.by_parts for table in unnamed):
        why = (
            "are trained by several optimizers" if len(optimizers) > 1 else "have ids that alternate between partitions"
        )
        raise MigrateError(
            f"the tables {', '.join(table.name for table in unnamed)} get their names at run time and {why}; fill them "
            "in the program with runtime.checkpoint.warm_start(table, path, variable_name)"
        )
    named = [table for table in tables if table.identity != "run time"]
    known = {table.name for table in named}
    others = [table for table in tables_of(bundle) if table.name not in known]
    optimizer = unnamed[0].optimizer
    return [
        *named,
        *(dataclasses.replace(one, optimizer=optimizer, base_buckets=_buckets(one, unnamed)) for one in others),
    ]


def stated_buckets(table: TableRecord, rows: int | None) -> Buckets | None:
    """Return how ids of a table divide, if its report states the number of buckets that they gave up.

    Behind words of a vocabulary there are fewer buckets than `rows` of the variable, and the report has no words.
    """
    stated = table.base_buckets.isdigit() and rows in (None, int(table.base_buckets))
    return Buckets(int(table.base_buckets)) if stated else None


def _buckets(table: TableRecord, unnamed: Sequence[TableRecord]) -> str:
    """Return the number of buckets that ids of a table gave up, as the record says whose name fits best.

    Raises:
        MigrateError: no name fits, and the records differ.
    """
    fitting = [one for one in unnamed if any(fnmatchcase(table.name, f"*{one.name}{end}") for end in _ENDS)]
    if fitting:
        return max(fitting, key=lambda record: len(record.name.replace("*", ""))).base_buckets
    numbers = {one.base_buckets for one in unnamed}
    if len(numbers) > 1:
        raise MigrateError(
            f"the report does not say whether each id of the table {table.name} has a row of its own, or a bucket: "
            "convert with --unbucket all, or without --unbucket"
        )
    return numbers.pop()
