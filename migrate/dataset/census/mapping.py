"""The feature map: category -> id per sparse column (C1 … C29), statistics per dense column (I1 … I11)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from migrate.dataset.census.columns import COLUMNS, DENSE, SPARSE
from migrate.dataset.census.reading import Row
from migrate.errors import MigrateError

#: The category of unseen values with `--unseen reserve`.
RESERVED = "<unseen>"

DENSE_AT = [COLUMNS.index(name) for name in DENSE]
SPARSE_AT = [COLUMNS.index(name) for name in SPARSE]


@dataclass
class DenseStats:
    """Running mean and variance of one numeric column (Welford's method), over the training file."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        """Add a value."""
        self.count += 1
        delta = value - self.mean
        self.mean += delta / self.count
        self.squares += delta * (value - self.mean)

    @property
    def std(self) -> float:
        """The standard deviation, or 1 for a constant column, so that it can be a divisor."""
        return math.sqrt(self.squares / self.count) if self.count and self.squares > 0 else 1.0


@dataclass
class FeatureMap:
    """Encodes a row as ids and dense values."""

    categories: list[dict[str, int]] = field(default_factory=list)  #: by sparse column, category -> id
    stats: list[DenseStats] = field(default_factory=lambda: [DenseStats() for _ in DENSE])
    normalized: bool = False  #: whether the numbers are stored as (value - mean) / std

    @property
    def sizes(self) -> list[int]:
        """The number of ids of each sparse column."""
        return [len(ids) for ids in self.categories]

    def to_json(self) -> dict[str, object]:
        """`{"C1": {category: id, …}, …, "I1": {"name", "mean", "std"}, …, "names": {"C1": …}, "normalized": bool}`."""
        result: dict[str, object] = {f"C{i}": ids for i, ids in enumerate(self.categories, start=1)}
        for i, (name, stats) in enumerate(zip(DENSE, self.stats, strict=True), start=1):
            result[f"I{i}"] = {"name": name, "mean": stats.mean, "std": stats.std}
        result["names"] = {f"C{i}": name for i, name in enumerate(SPARSE, start=1)}
        result["normalized"] = self.normalized
        return result


def _order(category: str) -> tuple[int, int, str]:
    """Sort key: numbers by value, then words, as the one-hot columns of the prepared files."""
    return (0, int(category), category) if category.isdecimal() else (1, 0, category)


class MapBuilder:
    """Collects categories and statistics row by row."""

    def __init__(self) -> None:
        self._seen: list[set[str]] = [set() for _ in SPARSE]
        self._stats = [DenseStats() for _ in DENSE]

    def add(self, path: Path, rows: Iterable[Row], *, categories: bool, statistics: bool) -> None:
        """Add the rows of a file, for their categories, their statistics, or both."""
        for row in rows:
            if categories:
                for seen, at in zip(self._seen, SPARSE_AT, strict=True):
                    seen.add(row.values[at])
            if statistics:
                for stats, value in zip(self._stats, dense_values(path, row), strict=True):
                    stats.add(value)

    def build(self, *, reserve: bool, normalize: bool) -> FeatureMap:
        """Return the map: ids 0 … max in sorted order of the categories; a reserved last id on request."""
        categories = []
        for seen in self._seen:
            names = sorted(seen, key=_order) + ([RESERVED] if reserve else [])
            categories.append({name: i for i, name in enumerate(names)})
        return FeatureMap(categories, self._stats, normalize)


def dense_values(path: Path, row: Row) -> list[float]:
    """Return the 11 numbers of a row.

    Raises:
        MigrateError: a value is not a finite number; names file, line and column.
    """
    try:
        values = [float(row.values[at]) for at in DENSE_AT]
    except ValueError:
        values = [math.nan]
    if all(map(math.isfinite, values)):
        return values
    for name, at in zip(DENSE, DENSE_AT, strict=True):
        try:
            wrong = not math.isfinite(float(row.values[at]))
        except ValueError:
            wrong = True
        if wrong:
            raise MigrateError(
                f"{path}:{row.line}: column `{name}` must be a number, got `{row.values[at]}`; correct it"
            )
    raise AssertionError("unreachable: one of the columns was not finite")


def sparse_ids(path: Path, row: Row, feature_map: FeatureMap) -> list[int]:
    """Return the 29 ids of a row.

    Raises:
        MigrateError: a category is not in the map and no id is reserved; names file, line, column and value.
    """
    ids = []
    for name, at, known in zip(SPARSE, SPARSE_AT, feature_map.categories, strict=True):
        value = row.values[at]
        found = known.get(value, known.get(RESERVED))
        if found is None:
            raise MigrateError(
                f"{path}:{row.line}: column `{name}` has the value `{value}`, which is not in the training file; "
                "use --unseen reserve, to reserve an id for such values, or --map-from both"
            )
        ids.append(found)
    return ids
