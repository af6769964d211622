"""Finds the variable of a checkpoint that each table of a report replaced."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from migrate.errors import MigrateError
from migrate.report.model import Report, State, TableRecord

#: Possible names of a table, from the name of its variable.
_SPELLINGS: tuple[Callable[[str], str], ...] = (str, lambda n: n.replace("/", "_"), lambda n: n.rpartition("/")[2])


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


def variable_of(table: TableRecord, shapes: Mapping[str, Sequence[int]], source: str) -> str:
    """Return the variable with the table's name: equal, with `_` for `/`, or equal to the last component.

    Raises:
        MigrateError: there is no such variable, or there are several.
    """
    if table.identity == "run time":
        raise MigrateError(
            f"{source}: the table `{table.name}` gets its name at run time, from a column or a variable scope; give "
            "--like CHECKPOINT, one that the converted program wrote, even before its first step"
        )
    if table.identity == "order":
        raise MigrateError(
            f"{source}: several variables have the name of `{table.name}`, numbered in the order of their creation; "
            f"select one with --map {table.name}=VARIABLE"
        )
    for spelled in _SPELLINGS:
        candidates = [name for name, shape in shapes.items() if spelled(name) == table.name and _fits(table, shape)]
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            raise MigrateError(
                f"{source}: {', '.join(candidates)} may be `{table.name}`; select one with --map {table.name}=VARIABLE"
            )
    wide = [name for name, shape in shapes.items() if len(shape) == 2 and _fits(table, shape)][:5]
    near = f"variables of its dim: {', '.join(wide)}" if wide else "no variable has its dim"
    raise MigrateError(
        f"{source}: has no variable for the table `{table.name}` ({near}); give it with --map {table.name}=VARIABLE"
    )


def _fits(table: TableRecord, shape: Sequence[int]) -> bool:
    width = math.prod(shape[1:]) if shape else -1
    return width > 0 and (not table.dim.isdigit() or int(table.dim) == width)
