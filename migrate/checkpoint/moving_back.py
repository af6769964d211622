"""Writes the checkpoint of the original model from one of the converted model. Imports TensorFlow."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from migrate.checkpoint.matching import converted_tables, given_names, parts_of, variables_of
from migrate.checkpoint.moving import check_target, written
from migrate.checkpoint.tables import named_as_in, tables_of
from migrate.errors import MigrateError
from migrate.report.model import TableRecord
from migrate.report.serialize import read_report
from runtime import checkpoint
from runtime.checkpoint.bundle import Bundle
from runtime.checkpoint.row_layout import stated


def move_back(
    source: str,
    target: str,
    report: str | None,
    names: Sequence[str],
    parts: Sequence[str],
    like: str | None,
    force: bool,
    bucket_rows: bool = False,
) -> list[checkpoint.MovedBack]:
    """Write the checkpoint `target` of variables from `source`, one of tables; return the converted tables.

    Args:
        source: prefix of a checkpoint of the converted program, or a directory with checkpoints.
        target: prefix of the new checkpoint, which the original program restores.
        report: the JSON report of the conversion; without one, all tables of `source` are taken.
        names: options `TABLE=VARIABLE`.
        parts: options `TABLE=N`, the number of partitions of a table's variable.
        like: a checkpoint of the original program, whose names and shapes `target` gets.
        force: overwrite `target`.
        bucket_rows: of a table whose ids gave up their buckets, write the rows of these, and leave out those of ids.

    Raises:
        MigrateError: a file cannot be read, a table has no variable, or `target` exists or is `source`.
    """
    try:
        bundle = Bundle(source)
        check_target(target, bundle.path, force)
        wanted = None if like is None else Bundle(like)
        known = tables_of(bundle) if report is None else converted_tables(read_report(report), report)
        tables = named_as_in(bundle, known)
        variables = given_names(names, tables)
        if wanted is not None:
            variables = variables_of(tables, wanted, variables)
        counts = parts_of(parts, tables, bundle.path)
        backs = [
            dataclasses.replace(
                _back(bundle, table, variables.get(table.name), wanted, counts[table.name]), bucket_rows=bucket_rows
            )
            for table in tables
        ]
        return written(target, lambda path: checkpoint.move_tables(bundle.path, path, backs, like))
    except checkpoint.CheckpointError as error:
        raise MigrateError(str(error)) from error


def _back(bundle: Bundle, table: TableRecord, variable: str | None, like: Bundle | None, parts: int) -> checkpoint.Back:
    if like is not None:
        return checkpoint.Back(table.name, variable or table.name, None, parts)
    known = stated(bundle, table.name)
    if known:
        name, known_shape = known[0]
        return checkpoint.Back(table.name, variable or name, tuple(known_shape), parts)
    if not table.rows.isdigit() or not table.dim.isdigit() or table.dim == "1":
        if not table.rows:
            raise MigrateError(
                f"{bundle.path}: does not state the shape of the variable `{table.name}`; give --report FILE, or "
                "--like CHECKPOINT of the original program, or both"
            )
        raise MigrateError(
            f"{table.name}: the report does not say the shape of its variable; give --like a checkpoint of the "
            "original program, of any step"
        )
    shape = (int(table.rows), int(table.dim))
    return checkpoint.Back(table.name, variable or table.name, shape, parts)
