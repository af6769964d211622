"""The tables that a checkpoint holds, where a report does not name them. Imports TensorFlow."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Sequence

from migrate.errors import MigrateError
from migrate.report import table_names
from migrate.report.model import Location, State, TableRecord
from runtime.checkpoint import rows
from runtime.checkpoint.bundle import Bundle
from runtime.checkpoint.variable_names import own_variables
from runtime.storage.buckets import Buckets

#: The last part of the name of an embedding column's variable.
_OF_COLUMN = "/embedding_weights"
#: Names of tables are cut behind so many characters.
_LONGEST = 90


def tables_of(bundle: Bundle) -> list[TableRecord]:
    """Return all tables of a checkpoint, as those of a program that a hook rewrote, which has no report.

    Raises:
        MigrateError: it has none.
    """
    names = rows.table_names(bundle)
    if not names:
        raise MigrateError(f"{bundle.path}: has no rows of a table; give a checkpoint of the converted program")
    where = Location(bundle.path, 0, 0, "")
    return [
        TableRecord(name, where, State.APPLIED, None, str(bundle.shapes[f"{name}-values"][1]), "", "", "")
        for name in names
    ]


def named_as_in(bundle: Bundle, tables: Sequence[TableRecord]) -> list[TableRecord]:
    """Return the tables of a report, and for those that get their names at run time all others of a checkpoint.

    Args:
        bundle: a checkpoint that the converted program wrote.
        tables: those of the report.

    Raises:
        MigrateError: the report does not tell how one was trained, or how its ids divide into buckets.
    """
    unnamed = [table for table in tables if table.is_named_at_run_time]
    named = [table for table in tables if table not in unnamed]
    known = {table.name for table in named}
    others = [table for table in tables_of(bundle) if table.name not in known] if unnamed else []
    owners = zip(unnamed, table_names.tables_of(unnamed, [one.name for one in others]), strict=True)
    records: dict[str, list[TableRecord]] = {}
    for record, names in owners:
        for name in names:
            records.setdefault(name, []).append(record)
    return [*named, *(_as_recorded(one, records.get(one.name, unnamed)) for one in others)]


def _as_recorded(table: TableRecord, records: Sequence[TableRecord]) -> TableRecord:
    """Return a table of a checkpoint as the report has it, in which it is one of these.

    Raises:
        MigrateError: they are not alike.
    """
    facts = {(one.optimizer, one.by_parts, one.base_buckets) for one in records}
    if len(facts) > 1:
        raise MigrateError(
            f"the table `{table.name}` gets its name at run time, and the report does not say which of "
            f"{', '.join(one.name for one in records)} it is, whose optimizers, partitions or buckets differ; fill it "
            "in the program with runtime.checkpoint.warm_start(table, path, variable_name)"
        )
    optimizer, by_parts, base_buckets = facts.pop()
    return dataclasses.replace(table, optimizer=optimizer, by_parts=by_parts, base_buckets=base_buckets)


def named_by_variables(
    bundle: Bundle, tables: Sequence[TableRecord], others: Sequence[TableRecord], again: str
) -> tuple[list[TableRecord], dict[str, str]]:
    """Return the tables of a report under their names at run time, and the variables by which these are known.

    The table of an embedding column is named after its variable, which is the only one with such a name. Where another
    variable could have the name that the source shows, nothing is assumed.

    Args:
        bundle: a checkpoint of the original program.
        tables: the converted tables of the report.
        others: its tables that stay variables.
        again: the command, without the option that says more.

    Raises:
        MigrateError: the variable of a table is not known by its name.
    """
    unnamed = [table for table in tables if table.is_named_at_run_time]
    records = [*unnamed, *(dataclasses.replace(one, identity="run time") for one in others)]
    widths = {name: math.prod(bundle.shapes[name][1:]) for name in own_variables(bundle) if bundle.shapes[name]}
    done = [table for table in tables if table not in unnamed]
    variables: dict[str, str] = {}
    unclear = []
    for table, names in zip(unnamed, table_names.tables_of(records, widths), strict=False):
        fitting = sorted(name for name in names if not table.dim.isdigit() or widths[name] == int(table.dim))
        at_run_time = {_table_name(name, table.identity == "shared"): name for name in fitting}
        is_clear = len(at_run_time) == 1 or all(name.endswith(_OF_COLUMN) for name in fitting)
        if not fitting or not is_clear or any(len(name) > _LONGEST for name in at_run_time):
            unclear.append(f"`{table.name}` ({' or '.join(fitting) or 'no variable has such a name'})")
        variables |= at_run_time
        done += [dataclasses.replace(table, name=name, identity="name") for name in at_run_time]
    if unclear:
        raise MigrateError(
            f"{bundle.path}: the report does not say which variables are {', '.join(unclear)}, as the program names "
            f"their tables when it runs; let the converted program save once in a new FOLDER, and run `{again} --like "
            "FOLDER`"
        )
    return done, variables


def _table_name(variable: str, is_shared: bool) -> str:
    """Return the name that a table gets at run time in the place of a variable: of columns that share it, the end."""
    parts = variable.split("/")
    return re.sub(r"[^0-9A-Za-z_]", "_", "_".join(parts[-2:] if is_shared else parts))


def stated_buckets(table: TableRecord, count: int | None) -> Buckets | None:
    """Return how ids of a table divide, if its report states the number of buckets that they gave up.

    Behind words of a vocabulary there are fewer buckets than `count`, the rows of the variable, and the report has no
    words.
    """
    stated = table.base_buckets.isdigit() and count in (None, int(table.base_buckets))
    return Buckets(int(table.base_buckets)) if stated else None
