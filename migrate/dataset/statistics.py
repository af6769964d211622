"""Statistics of columns that can be added over blocks, with a result that does not depend on the blocks.

Sums are exact (integers in units of 2**-1200), so mean and deviation do not depend on the order of the rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from migrate.dataset.arrow import compute, pa

Array = np.ndarray[Any, np.dtype[Any]]

_UNIT = 1200  #: every float64 is an integer multiple of 2**-_UNIT
_HALF = 26  # bits of the lower half of a float64's 53
_MERGE_ROWS = 1 << 20


@dataclass
class Moments:
    """Count, range, sum and sum of squares of numbers."""

    count: int = 0
    missing: int = 0
    minimum: float = math.inf
    maximum: float = -math.inf
    total: int = 0
    squares: int = 0

    @classmethod
    def of(cls, values: Array, missing: int = 0) -> Moments:
        """Return the moments of finite numbers below 1e150."""
        if not len(values):
            return cls(missing=missing)
        total, squares = exact_sums(values.astype(np.float64, copy=False))
        return cls(len(values), missing, values.min().item(), values.max().item(), total, squares)

    def add(self, other: Moments) -> None:
        """Add the statistics of other rows."""
        self.count += other.count
        self.missing += other.missing
        self.minimum, self.maximum = min(self.minimum, other.minimum), max(self.maximum, other.maximum)
        self.total += other.total
        self.squares += other.squares

    @property
    def mean(self) -> float:
        """The mean; 0 if there are no values."""
        return float(Fraction(self.total, self.count << _UNIT)) if self.count else 0.0

    @property
    def std(self) -> float:
        """The standard deviation of the whole population."""
        if not self.count:
            return 0.0
        mean = Fraction(self.total, self.count << _UNIT)
        return math.sqrt(Fraction(self.squares, self.count << _UNIT) - mean * mean)


def exact_sums(values: Array) -> tuple[int, int]:
    """Return the sum of float64s and of their squares, exactly, in units of 2**-1200."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest < 2**26 and largest * largest * len(values) < 2**62 and bool((values == np.rint(values)).all()):
        whole = values.astype(np.int64)
        return int(whole.sum()) << _UNIT, int((whole * whole).sum()) << _UNIT
    # The square as the sum of two float64s (Dekker): the rounded one and what rounding left.
    square = values * values
    scaled = values * 134217729.0
    high = scaled - (scaled - values)
    low = values - high
    rest = ((high * high - square) + 2 * high * low) + low * low
    return _exact_sum(values), _exact_sum(square) + _exact_sum(rest)


def _exact_sum(values: Array) -> int:
    parts, exponents = np.frexp(values)
    whole = np.ldexp(parts, 53).astype(np.int64)
    smallest = int(exponents.min())
    bins = exponents - smallest
    # Sums of integers below 2**53: exact in float64, whatever the order.
    upper = np.bincount(bins, weights=whole >> _HALF)
    lower = np.bincount(bins, weights=whole & ((1 << _HALF) - 1))
    total = 0
    for k in np.flatnonzero((upper != 0) | (lower != 0)).tolist():
        total += ((int(upper[k]) << _HALF) + int(lower[k])) << (_UNIT - 53 + smallest + k)
    return total


class Counts:
    """The number of occurrences of each value, as Arrow arrays that are merged from time to time."""

    def __init__(self, values: Any = None, counts: Any = None) -> None:
        self._parts: list[tuple[Any, Any]] = [] if values is None else [(values, pa.array(counts, pa.int64()))]
        self._limit = _MERGE_ROWS

    def add(self, other: Counts) -> None:
        """Add the statistics of other rows."""
        self._parts += other._parts
        rows = sum(len(values) for values, _ in self._parts)
        if rows > self._limit:
            self._merge()
            self._limit = 2 * len(self._parts[0][0]) + _MERGE_ROWS

    def _merge(self) -> None:
        if len(self._parts) > 1:
            values, counts = (pa.chunked_array(list(part)) for part in zip(*self._parts, strict=True))
            table = pa.table({"value": values, "count": counts})
            table = table.group_by("value", use_threads=False).aggregate([("count", "sum")]).combine_chunks()
            merged = [column.chunk(0) for column in (table.column("value"), table.column("count_sum"))]
            self._parts = [(merged[0], merged[1])]

    def most(self) -> tuple[Any, Any]:
        """Return all values and counts, most frequent first; equally frequent values are sorted by their bytes."""
        if not self._parts:
            return pa.array([], pa.string()), pa.array([], pa.int64())
        self._merge()
        values, counts = self._parts[0]
        keys = [("count", "descending"), ("value", "ascending")]
        order = compute.sort_indices(pa.table({"value": values, "count": counts}), sort_keys=keys)
        self._parts = [(values.take(order), counts.take(order))]
        return self._parts[0]

    def items(self) -> tuple[Any, Any]:
        """Return values and counts in no particular order."""
        self._merge()
        return self._parts[0] if self._parts else (pa.array([], pa.string()), pa.array([], pa.int64()))


@dataclass
class Categories:
    """Statistics of a sparse column: values, missing values, and occurrences of each value (or hashed id)."""

    count: int = 0
    missing: int = 0
    values: Counts = field(default_factory=Counts)

    def add(self, other: Categories) -> None:
        """Add the statistics of other rows."""
        self.count += other.count
        self.missing += other.missing
        self.values.add(other.values)


@dataclass
class Statistics:
    """Statistics of all columns, by name. A raw sparse column, whose ids need no map, has `Moments`."""

    rows: int = 0
    skipped: int = 0
    first_skipped: str = ""
    labels: dict[str, Moments] = field(default_factory=dict)
    dense: dict[str, Moments] = field(default_factory=dict)
    sparse: dict[str, Categories | Moments] = field(default_factory=dict)
    timestamp: Moments | None = None

    def add(self, other: Statistics) -> None:
        """Add the statistics of later rows."""
        self.rows += other.rows
        self.skipped += other.skipped
        self.first_skipped = self.first_skipped or other.first_skipped
        for mine, theirs in ((self.labels, other.labels), (self.dense, other.dense), (self.sparse, other.sparse)):
            _add_all(mine, theirs)
        if self.timestamp is None:
            self.timestamp = other.timestamp
        elif other.timestamp is not None:
            self.timestamp.add(other.timestamp)


def _add_all(mine: dict[str, Any], theirs: dict[str, Any]) -> None:
    for name, counted in theirs.items():
        if name in mine:
            mine[name].add(counted)
        else:
            mine[name] = counted
