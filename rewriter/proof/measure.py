"""Differences between arrays, and their tally by kind."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rewriter.proof.result import Compared

__all__ = ["Gap", "Tally", "gap", "where"]

#: Rounding of types that hold fewer digits than float32 is taken for equal up to this many of their units.
_UNITS = 4.0


@dataclass(frozen=True)
class Gap:
    """The greatest difference between the elements of two arrays, and the greatest magnitude in the first."""

    amount: float
    scale: float
    limit: float

    @property
    def differs(self) -> bool:
        """Whether the two are further apart than rounding explains."""
        return not self.amount <= self.limit * self.scale

    @property
    def ratio(self) -> float:
        """The difference in units of the magnitude."""
        return self.amount / self.scale if self.scale else math.inf if self.amount else 0.0


def gap(one: Any, other: Any, tolerance: float, scale: float = 0.0) -> Gap:
    """Compare two arrays; `scale` is a magnitude that is known from before. What are no floats must be equal."""
    one, other = np.asarray(one), np.asarray(other)
    exact = not (_floating(one) and _floating(other))
    if one.shape != other.shape:
        return Gap(math.inf, 1.0, 0.0 if exact else tolerance)
    if exact:
        return Gap(0.0 if np.array_equal(one, other) else math.inf, 1.0, 0.0)
    limit = max(tolerance, _UNITS * _epsilon(one) if one.dtype.itemsize < 4 else 0.0)
    one, other = one.astype(np.float64), other.astype(np.float64)
    known = np.isfinite(one)
    if not np.array_equal(one[~known], other[~known], equal_nan=True) or not np.isfinite(other[known]).all():
        return Gap(math.inf, max(scale, 1.0), limit)
    one, other = one[known], other[known]
    if not one.size:
        return Gap(0.0, scale, limit)
    return Gap(float(np.abs(one - other).max()), max(scale, float(np.abs(one).max())), limit)


def where(one: Any, other: Any) -> str:
    """Say where two arrays are furthest apart."""
    one, other = np.asarray(one), np.asarray(other)
    if one.shape != other.shape:
        return f"its shape is {list(other.shape)}, and was {list(one.shape)}"
    if _floating(one):
        distance = np.nan_to_num(np.abs(one.astype(np.float64) - other.astype(np.float64)), nan=math.inf)
    else:
        distance = np.asarray(one != other)
    if not distance.size:
        return "it is empty"
    place = np.unravel_index(int(np.argmax(distance)), distance.shape)
    index = f" at [{', '.join(map(str, place))}]" if place else ""
    return f"it is {other[place]:.6g}{index}, and was {one[place]:.6g}" if _number(one) else f"it is different{index}"


@dataclass
class _Item:
    """What is known of an item: how often it was compared, its worst gap, and its magnitude so far."""

    times: int = 0
    worst: Gap = field(default_factory=lambda: Gap(0.0, 0.0, 0.0))
    scale: float = 0.0


class Tally:
    """Counts comparisons by kind and item, and remembers the worst of each."""

    def __init__(self, tolerance: float) -> None:
        self._tolerance = tolerance
        self._kinds: dict[str, dict[str, _Item]] = {}

    def add(self, kind: str, item: str, one: Any, other: Any) -> Gap:
        """Compare two arrays of an item; its magnitude is the greatest that it had so far."""
        known = self._kinds.setdefault(kind, {}).setdefault(item, _Item())
        found = gap(one, other, self._tolerance, known.scale)
        known.scale = found.scale
        known.times += 1
        known.worst = max(found, known.worst, key=_order)
        return found

    def drop(self, kind: str, item: str) -> None:
        """Forget an item."""
        self._kinds[kind].pop(item)

    def items(self, kind: str) -> list[str]:
        """Return what was compared of a kind."""
        return list(self._kinds.get(kind, {}))

    def differ(self, kinds: Iterable[str]) -> bool:
        """Whether anything of these kinds was not the same to the last bit."""
        return any(one.worst.amount for kind in kinds for one in self._kinds.get(kind, {}).values())

    def compared(self) -> tuple[Compared, ...]:
        """Return what was counted."""
        return tuple(_compared(kind, items) for kind, items in self._kinds.items() if items)


def _order(found: Gap) -> tuple[float, float]:
    return found.ratio, found.scale


def _compared(kind: str, items: dict[str, _Item]) -> Compared:
    worst = max((one.worst for one in items.values()), key=_order)
    times = sum(one.times for one in items.values())
    return Compared(kind, tuple(items), times, worst.amount, worst.scale, worst.limit)


def _floating(array: Any) -> bool:
    return bool(array.dtype.kind == "f" or array.dtype.name in ("bfloat16",))


def _number(array: Any) -> bool:
    return _floating(array) or array.dtype.kind in "iu"


def _epsilon(array: Any) -> float:
    return 2.0**-7 if array.dtype.name == "bfloat16" else float(np.finfo(array.dtype).eps)
