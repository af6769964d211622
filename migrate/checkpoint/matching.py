"""Finds the variable of a checkpoint that each table of a report replaced. Imports TensorFlow."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence

from migrate.errors import MigrateError
from migrate.report.model import Applicability, Report, State, TableRecord
from runtime.checkpoint.bundle import Bundle
from runtime.checkpoint.variable_names import own_variables, variables_by_name

#: How many variables a message lists for a table.
_SHOWN = 5


def moves_at_run_time(table: TableRecord) -> bool:
    """Whether `rewriter.install` makes the table in the program, which reads its rows of the original's checkpoint."""
    return table.verdict is State.APPLIED and table.applicability is Applicability.IN_GRAPH


def converted_tables(report: Report, path: str) -> list[TableRecord]:
    """Return the tables that a conversion created, without duplicate names.

    Raises:
        MigrateError: the report has no converted table, or is of a conversion to another SDK than the runtime.
    """
    other = next((one.target for one in report.inputs if one.target not in {"", "runtime"}), None)
    if other is not None:
        raise MigrateError(
            f"{path}: belongs to a conversion with --target {other}; give the report of a conversion to the runtime"
        )
    tables = {table.name: table for table in report.tables if table.verdict is State.APPLIED}
    if not tables:
        raise MigrateError(f"{path}: has no converted table; give the report of `migrate convert`")
    return list(tables.values())


def converted_in_source(tables: Sequence[TableRecord], path: str) -> list[TableRecord]:
    """Return the converted tables of a report that do not read the rows of the original's checkpoint as it is.

    Raises:
        MigrateError: there are none.
    """
    left = [table for table in tables if not moves_at_run_time(table)]
    if not left:
        raise MigrateError(
            f"{path}: its tables move at run time, by `rewriter.install`, and read a checkpoint of the original as it "
            "is; restore OLD in the converted program"
        )
    return left


def given_names(
    pairs: Sequence[str], tables: Sequence[TableRecord], option: str = "--map", form: str = "TABLE=VARIABLE"
) -> dict[str, str]:
    """Return table -> value of options such as `TABLE=VARIABLE`.

    Raises:
        MigrateError: an option has another form, or names a table that the report does not have.
    """
    names_of = {}
    for pair in pairs:
        table, equals, variable = pair.partition("=")
        if not equals or not variable:
            raise MigrateError(f"{option} {pair}: invalid; write {option} {form}")
        check_known([table], tables, f"{option} {pair}")
        names_of[table] = variable
    return names_of


def check_known(names: Sequence[str], tables: Sequence[TableRecord], option: str) -> None:
    """Check the names of tables that an option gives.

    Raises:
        MigrateError: the report does not have one.
    """
    known = [table.name for table in tables]
    strange = next((name for name in names if name not in known), None)
    if strange is not None:
        raise MigrateError(f"{option}: the report has no table `{strange}`; its tables are {', '.join(known)}")


def parts_of(pairs: Sequence[str], tables: Sequence[TableRecord], source: str) -> dict[str, int]:
    """Return table -> number of partitions, from `TABLE=N` options; 1 if rows are in the order of ids.

    Raises:
        MigrateError: an option has another form, or is missing for a table whose ids alternate between partitions.
    """
    counts = given_names(pairs, tables, "--parts", "TABLE=N")
    for table, text in counts.items():
        if not text.isdigit() or int(text) < 1:
            raise MigrateError(f"--parts {table}={text}: not a number of partitions; write e.g. {table}=2")
    for record in tables:
        if record.by_parts and record.name not in counts:
            raise MigrateError(
                f"{source}: the ids of `{record.name}` alternate between partitions of its variable, so its rows are "
                f"not in the order of ids; give --parts {record.name}=N with the number of partitions (1 if it has "
                "none)"
            )
    return {one.name: int(counts.get(one.name, 1)) for one in tables}


def variables_of(tables: Sequence[TableRecord], bundle: Bundle, chosen: Mapping[str, str]) -> dict[str, str]:
    """Return table -> its variable in a checkpoint of the original: a given one, or by its name.

    Raises:
        MigrateError: that of a table is not known.
    """
    shapes = {name: bundle.shapes[name] for name in own_variables(bundle) if bundle.shapes[name]}
    free = {name: math.prod(shape[1:]) for name, shape in shapes.items() if name not in chosen.values()}
    rest = {table.name: int(table.dim) if table.dim.isdigit() else 0 for table in tables if table.name not in chosen}
    named = variables_by_name(rest, free)
    sure = {table: names[0] for table, names in named.items() if len(names) == 1}
    sure = {**chosen, **{table.name: sure[table.name] for table in tables if _has_one(table) and table.name in sure}}
    left = [table for table in tables if table.name not in sure]
    if left:
        near = {name: shapes[name] for name in free if name not in sure.values() and len(shapes[name]) <= 2}
        possible = {table.name: _possible(table, named.get(table.name, ()), near) for table in left}
        raise MigrateError(_unmatched(possible, bundle.path))
    return sure


def _has_one(table: TableRecord) -> bool:
    """Return whether its variable is the only one that the program gives this name."""
    return table.identity != "order"


def _possible(table: TableRecord, named: Sequence[str], near: Mapping[str, Sequence[int]]) -> list[str]:
    """Return the variables that may be a table's.

    These are those with its name, unless TensorFlow numbers them, else those of its width, with as many rows if any.
    """
    if named and _has_one(table):
        return list(named)
    width = int(table.dim) if table.dim.isdigit() else 0
    fitting = [name for name, shape in near.items() if width in (0, math.prod(shape[1:]))]
    return [name for name in fitting if str(near[name][0]) == table.rows] or fitting


def _unmatched(possible: Mapping[str, Sequence[str]], path: str) -> str:
    """Return what to add to the command where variables are not known, given those that each table may have."""
    counts = Counter(name for names in possible.values() for name in names)
    maps, shown = [], []
    for table, names in possible.items():
        is_only = len(names) == 1 and counts[names[0]] == 1
        maps.append(shlex.join(["--map", f"{table}={names[0] if is_only else 'VARIABLE'}"]))
        more = ", …" if len(names) > _SHOWN else ""
        shown.append(f"`{table}` ({'perhaps ' + ', '.join(names[:_SHOWN]) + more if names else 'none has its dim'})")
    return f"{path}: the names do not say which variable is the table {', '.join(shown)}; give {' '.join(maps)}" + (
        "" if all(possible.values()) else ", or --like a checkpoint that the converted program wrote, if it lacks some"
    )
