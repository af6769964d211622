"""What the tables of this process hold: read before their sessions end, and said at the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from rewriter.facts import Table
from rewriter.plan.growth_lines import growth_lines
from rewriter.table_settings import TableSettings, called, names_of
from runtime.table.status import TableStatus, status


class Usage:
    """The greatest size that was seen of each table."""

    def __init__(self) -> None:
        self._seen: dict[str, TableStatus] = {}
        self._names: dict[str, str] = {}

    def call(self, table: str, name: str) -> None:
        """Let a table be that of a variable of another name."""
        self._names[table] = name

    def look(self) -> None:
        """Note the tables that exist now."""
        for table in status().tables:
            name = self._names.get(table.name, table.name)
            known = self._seen.get(name)
            if known is None or table.rows >= known.rows:
                self._seen[name] = table

    def of(self, table: str) -> TableStatus | None:
        """Return the size of a table; None if no session that had it was closed."""
        return self._seen.get(table)


def summary(
    tables: Iterable[Table], staying: int, usage: Usage, settings: Mapping[str, TableSettings], dry_run: bool = False
) -> str:
    """Return a line for each table, which of them can grow, and settings of no table; first what counts all.

    In a dry run variables would become tables: no table is there that has a size.
    """
    tables = list(tables)
    if tables:
        usage.look()
    rows = [(table, usage.of(table.name)) for table in tables]
    if dry_run:
        become = "become a table" if len(rows) == 1 else "become tables"
        lines = [f"{_count(len(rows), 'variable')} would {become}, {staying} would stay"]
    else:
        lines = [f"{_count(len(rows), 'table')}, {_count(staying, 'variable')} that stayed"]
    names = called(table.name for table in tables)
    for table, used in () if dry_run else rows:
        size = "on parameter servers" if table.servers else "not used by a session that was closed"
        size = f"{used.rows:,} rows of {table.rows:,} declared, {_memory(used.bytes)}" if used else size
        lines.append(f"  {names[table.name]} [{table.rows}, {table.dim}]: {size}")
    lines += [f"  {line}" for line in growth_lines(tables)]
    for pattern in settings:
        if not any(fnmatchcase(name, pattern) for name in names_of(names)):
            lines.append(f"  settings of `{pattern}`: no table has this name")
    return "\n".join(lines)


def _memory(count: int) -> str:
    return f"{count / 2**20:,.1f} MiB" if count >= 2**20 else f"{count / 2**10:,.1f} KiB"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
