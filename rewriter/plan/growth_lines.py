"""Lines for users that say which tables can grow, and what bounds the others: one for each bound."""

from __future__ import annotations

from collections.abc import Iterable

from rewriter.facts import Bound, Table
from rewriter.table_settings import called
from rewriter.words import listed

_BECAUSE = {
    "buckets": "ids are hashed or divided into buckets",
    "dataset": "a dataset hashes or divides ids into buckets",
    "vocabulary": "a vocabulary numbers ids",
    "range": "the graph keeps ids in a range",
}
_WAY = "; with the setting `unbucket: true` in a file for `migrate run --settings`, each id gets a row of its own"


def growth_lines(tables: Iterable[Table]) -> list[str]:
    """Return the lines, first that of what bounds most tables."""
    tables = list(tables)
    names = called(table.name for table in tables)
    groups: dict[str, list[str]] = {}
    for table in tables:
        groups.setdefault(_says(table.bound), []).append(names[table.name])
    return [f"{listed(group)} {says}" for says, group in sorted(groups.items(), key=lambda bounded: -len(bounded[1]))]


def _says(bound: Bound) -> str:
    if not bound.by:
        return "can grow: each new id gets a row, if the rest of the model takes it"
    if bound.by == "unknown":
        where = f"by an op {bound.kind}" if bound.kind else "outside of the model"
        return f"can grow if ids are not limited before: they are computed {where}, which does not show their number"
    kept = f", and `unbucket` cannot give them rows of their own, because {bound.reason}" if bound.reason else ""
    return f"cannot grow: {_BECAUSE[bound.by]}{_WAY if bound.frees else kept}"


def bound_of(table: Table) -> str:
    """Return why a table cannot grow, and what ends that; "" if it can, or if that is not known."""
    return "" if table.bound.by in ("", "unknown") else _says(table.bound).partition(": ")[2]
