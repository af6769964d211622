"""Which variable of a checkpoint each table of a report took the place of. Pure data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from migrate.errors import MigrateError
from migrate.report.model import Report, State, TableRecord

#: The optimizers of version 1, as reports name them, and as checkpoints of tables do.
OPTIMIZERS = {
    "GradientDescentOptimizer": "sgd",
    "MomentumOptimizer": "momentum",
    "AdagradOptimizer": "adagrad",
    "AdadeltaOptimizer": "adadelta",
    "RMSPropOptimizer": "rmsprop",
    "FtrlOptimizer": "ftrl",
    "AdamOptimizer": "adam",
    "LazyAdamOptimizer": "lazy_adam",
}
#: How a variable's name may appear as a table's.
_SPELLINGS: tuple[Callable[[str], str], ...] = (str, lambda n: n.replace("/", "_"), lambda n: n.rpartition("/")[2])


def converted_tables(report: Report, path: str) -> list[TableRecord]:
    """Return the tables that a conversion made, each name once.

    Raises:
        MigrateError: the report has none, or it is of a conversion to another SDK than the runtime.
    """
    other = next((one.target for one in report.inputs if one.target not in {"", "runtime"}), None)
    if other is not None:
        raise MigrateError(f"{path}: it is of a conversion to `{other}`, whose checkpoints are not written here")
    found = {table.name: table for table in report.tables if table.verdict is State.APPLIED}
    if not found:
        raise MigrateError(f"{path}: no table of this report was converted; give the report of `migrate convert`")
    return list(found.values())


def given_names(
    pairs: Sequence[str], tables: Sequence[TableRecord], option: str = "--map", form: str = "TABLE=VARIABLE"
) -> dict[str, str]:
    """Return table -> what is given for it by options such as `TABLE=VARIABLE`.

    Raises:
        MigrateError: an option of another form, or of a table that the report has not.
    """
    names = [table.name for table in tables]
    given = {}
    for pair in pairs:
        table, equals, variable = pair.partition("=")
        if not equals or not variable:
            raise MigrateError(f"{option} {pair}: not of the form {form}; write it so")
        if table not in names:
            raise MigrateError(f"{option} {pair}: the report has no table `{table}`; its tables are {', '.join(names)}")
        given[table] = variable
    return given


def parts_of(pairs: Sequence[str], tables: Sequence[TableRecord], source: str) -> dict[str, int]:
    """Return table -> number of partitions for `TABLE=N` options, 1 where the order of rows is that of the ids.

    Raises:
        MigrateError: an option of another form, or none for a table whose rows are in the order of partitions.
    """
    given = given_names(pairs, tables, "--parts", "TABLE=N")
    for table, text in given.items():
        if not text.isdigit() or int(text) < 1:
            raise MigrateError(f"--parts {table}={text}: not a number of partitions; write {table}=2, for one")
    for one in tables:
        if one.by_parts and one.name not in given:
            raise MigrateError(
                f"{source}: ids of `{one.name}` went round the partitions of its variable, so its rows are not in the "
                f"order of ids; give the number of partitions with --parts {one.name}=N (1 if it was whole)"
            )
    return {one.name: int(given.get(one.name, 1)) for one in tables}


def variable_of(table: TableRecord, shapes: Mapping[str, Sequence[int]], source: str) -> str:
    """Return the variable that bears the table's name: alike, with `_` for `/`, or as the last part alone.

    Raises:
        MigrateError: none does, or several do.
    """
    if table.identity == "run time":
        raise MigrateError(
            f"{source}: the table of `{table.name}` gets its name when the program runs, from a column or a variable "
            "scope; fill it in the program with runtime.checkpoint.warm_start(table, path, variable_name)"
        )
    if table.identity == "order":
        raise MigrateError(
            f"{source}: several variables bear the name of `{table.name}`, and which is which depends on the order in "
            f"which they are made; say which with --map {table.name}=…"
        )
    for spelled in _SPELLINGS:
        found = [name for name, shape in shapes.items() if spelled(name) == table.name and _fits(table, shape)]
        if len(found) == 1:
            return found[0]
        if found:
            raise MigrateError(
                f"{source}: {', '.join(found)} may be `{table.name}`; say which with --map {table.name}=…"
            )
    wide = [name for name, shape in shapes.items() if len(shape) == 2 and _fits(table, shape)][:5]
    near = f"of its width are {', '.join(wide)}" if wide else "nothing there has its width"
    raise MigrateError(
        f"{source}: has no variable for the table `{table.name}` ({near}); name it with --map {table.name}=…"
    )


def _fits(table: TableRecord, shape: Sequence[int]) -> bool:
    width = shape[1] if len(shape) == 2 else 1 if len(shape) == 1 else -1
    return width > 0 and (not table.dim.isdigit() or int(table.dim) == width)


def optimizer_of(table: TableRecord) -> str | None:
    """Return the optimizer that trained the variable, None when that is not one known optimizer."""
    return OPTIMIZERS.get(table.optimizer)
