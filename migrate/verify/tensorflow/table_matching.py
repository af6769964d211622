"""Matches the tables of a converted program with the variables that they replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from migrate.errors import MigrateError
from migrate.report.summary import plural

#: Possible names of a table, from the full name of its variable.
spelled: tuple[Callable[[str], str], ...] = (str, lambda n: n.replace("/", "_"))
#: The same, also from the last part of the name.
_SPELLINGS: tuple[Callable[[str], str], ...] = (*spelled, lambda n: n.rpartition("/")[2])


def match_tables(
    path: str,
    tables: Mapping[str, int],
    trained: Mapping[str, tuple[int, ...]],
    kept: set[str],
    known: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return table name -> name of the variable it replaced.

    Args:
        path: the converted program, for messages.
        tables: name -> dim, in order of creation.
        trained: trainable variables of the original with their shapes, in order of creation.
        kept: trainable variables of the converted program.
        known: tables whose variable is known.

    Other tables are matched by name (equal, with `_` for `/`, or the last part), then by dim and order of creation.

    Raises:
        MigrateError: a variable or a table has no counterpart, or several.
    """
    extra = sorted(kept - set(trained))
    if extra:
        raise MigrateError(f"{path}: trains `{extra[0]}`, which the original does not have; give the converted program")
    candidates = {n: dim_of(shape) for n, shape in trained.items() if n not in kept}
    found_before = (known or {}).items()
    matched = {table: name for table, name in found_before if candidates.get(name) == tables[table]}
    for spelling in _SPELLINGS:
        for table, dim in tables.items():
            free = [n for n in candidates if n not in matched.values() and candidates[n] == dim]
            found = [n for n in free if spelling(n) == table]
            if table not in matched and len(found) == 1:
                matched[table] = found[0]
    _by_order(path, tables, candidates, matched)
    left = [name for name in candidates if name not in matched.values()]
    if left:
        raise MigrateError(
            f"{path}: has neither a variable nor a table for the original's `{left[0]}`; convert the file again"
        )
    return matched


def _by_order(path: str, tables: Mapping[str, int], candidates: Mapping[str, int], matched: dict[str, str]) -> None:
    for dim in sorted({dim for table, dim in tables.items() if table not in matched}):
        free = [table for table, width in tables.items() if width == dim and table not in matched]
        names = [name for name, width in candidates.items() if width == dim and name not in matched.values()]
        if len(free) != len(names):
            raise MigrateError(
                f"{path}: {plural(len(free), 'table')} of dim {dim} ({', '.join(free)}) may match "
                f"{plural(len(names), 'variable')} of the original; give each table the name of its variable"
            )
        matched.update(zip(free, names, strict=True))


def dim_of(shape: tuple[int, ...]) -> int:
    """Return the dim of a table that replaces a variable; a vector has rows of one value."""
    return shape[1] if len(shape) == 2 else 1 if len(shape) == 1 else -1
