"""Which table took the place of which variable. Pure data."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from migrate.errors import MigrateError

#: how a variable's name may appear as a table's
_SPELLINGS: tuple[Callable[[str], str], ...] = (str, lambda n: n.replace("/", "_"), lambda n: n.rpartition("/")[2])


def match_tables(
    path: str, tables: Mapping[str, int], trained: Mapping[str, tuple[int, ...]], kept: set[str]
) -> dict[str, str]:
    """Return table name -> name of the variable it replaced.

    Args:
        path: of the converted program, for messages.
        tables: name -> dim, in order of creation.
        trained: trainable variables of the original with their shapes, in order of creation.
        kept: trainable variables of the converted program.

    A name counts first (equal, then with `_` for `/`, then the last part alone), then width and order of creation.

    Raises:
        MigrateError: a variable has no counterpart, a table has none, or several would do.
    """
    extra = sorted(kept - set(trained))
    if extra:
        raise MigrateError(f"{path}: trains `{extra[0]}`, which the original does not have; the two are not a pair")
    candidates = {n: _dim(shape) for n, shape in trained.items() if n not in kept}
    matched: dict[str, str] = {}
    for spelling in _SPELLINGS:
        for table, dim in tables.items():
            free = [n for n in candidates if n not in matched.values() and candidates[n] == dim]
            found = [n for n in free if spelling(n) == table]
            if table not in matched and len(found) == 1:
                matched[table] = found[0]
    _by_order(path, tables, candidates, matched)
    left = [name for name in candidates if name not in matched.values()]
    if left:
        raise MigrateError(f"{path}: has neither variable nor table for the original's `{left[0]}`; convert it again")
    return matched


def _by_order(path: str, tables: Mapping[str, int], candidates: Mapping[str, int], matched: dict[str, str]) -> None:
    for dim in sorted({dim for table, dim in tables.items() if table not in matched}):
        free = [table for table, width in tables.items() if width == dim and table not in matched]
        names = [name for name, width in candidates.items() if width == dim and name not in matched.values()]
        if len(free) != len(names):
            raise MigrateError(
                f"{path}: {len(free)} tables of dim {dim} ({', '.join(free)}) stand for {len(names)} variables of the "
                "original, so they cannot be told apart; give each table its variable's name"
            )
        matched.update(zip(free, names, strict=True))


def _dim(shape: tuple[int, ...]) -> int:
    """The width of a table that replaces a variable: a vector has one number a row."""
    return shape[1] if len(shape) == 2 else 1 if len(shape) == 1 else -1
