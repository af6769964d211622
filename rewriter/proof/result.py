"""The result of a proof as data: what was compared, how large differences were, and the first tensor that differs."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite, isinf
from typing import Any

import numpy as np

__all__ = ["Compared", "Curve", "Difference", "Gap", "Proof", "Tally", "gap", "where"]


@dataclass(frozen=True)
class Curve:
    """A loss of both graphs, one number for each step that computed it."""

    name: str
    original: tuple[float, ...]
    converted: tuple[float, ...]


@dataclass(frozen=True)
class Compared:
    """All comparisons of one kind: `items` are tensors or variables, `times` is the total number of comparisons.

    `largest` is the greatest difference between two elements, and `scale` the greatest magnitude, of the item with the
    worst ratio of the two. `limit` is the greatest ratio that counts as equal; 0 means exact.
    """

    kind: str
    items: tuple[str, ...]
    times: int
    largest: float
    scale: float
    limit: float
    curves: tuple[Curve, ...] = ()  #: of losses that are one number

    def __str__(self) -> str:
        count = f"{self.times} {_TIMES.get(self.kind, 'comparisons')} of {_counted(len(self.items), self.kind)}"
        if isinf(self.largest):
            return f"{self.kind}: different, {count}"
        if not self.limit:
            return f"{self.kind}: equal, {count}"
        return f"{self.kind}: max|d| {self.largest:.1e} of {self.scale:.2g}, {count}"


_TIMES = {"ids": "batches", "rows looked up": "batches", "updated ids": "batches"}
_NOUNS = {"ids": "lookup", "rows looked up": "lookup", "losses": "tensor", "fetched tensors": "tensor"}
_NOUNS |= dict.fromkeys(("updated ids", "gradients of rows", "touched rows", "all rows at the end"), "table")


def _counted(count: int, kind: str) -> str:
    return f"{count} {_NOUNS.get(kind, 'variable')}{'s' * (count != 1)}"


@dataclass(frozen=True)
class Difference:
    """The first difference. `step` counts from 1; 0 is before the first step. `found` is the compared item.

    `tensor`, of an op of type `type`, is the first tensor that differs on the path to it: everything that it is
    computed from, except what `reason` names, is equal.
    """

    step: int
    kind: str
    found: str
    amount: float
    scale: float
    tensor: str
    type: str
    reason: str
    table: str | None = None
    source: str | None = None

    def __str__(self) -> str:
        when = f"step {self.step}" if self.step else "the start"
        by = "" if isinf(self.amount) else f" by {self.amount:.2g} of {self.scale:.2g}"
        table = f", table `{self.table}`" if self.table else ""
        source = f", built at {self.source}" if self.source else ""
        return (
            f"{when}: {self.kind} of `{self.found}` differ{by}; the first tensor that differs is `{self.tensor}` "
            f"({self.type}{table}{source}): {self.reason}"
        )


_EVIDENCE = ("ids", "updated ids", "losses", "fetched tensors")


def finite(data: Any) -> Any:
    """Return JSON-compatible values with infinities and NaN as strings."""
    if isinstance(data, dict):
        return {key: finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [finite(value) for value in data]
    return str(data) if isinstance(data, float) and not isfinite(data) else data


@dataclass(frozen=True)
class Proof:
    """Whether a rewritten graph computes the same values as the original over recorded steps.

    Without a difference, `steps` looked rows up, and `others` are the session's other runs between them.
    """

    steps: int
    tables: tuple[str, ...]
    tolerance: float
    compared: tuple[Compared, ...]
    difference: Difference | None = None
    notes: tuple[str, ...] = ()
    others: int = 0

    @property
    def ok(self) -> bool:
        """Whether nothing differs and something that depends on lookups was compared, including available ids.

        Ids in loops and in inlined functions cannot be fetched.
        """
        return self.difference is None and any(one.kind in _EVIDENCE and one.times for one in self.compared)

    def to_json(self) -> str:
        """Return the proof as JSON, with `ok`; infinities and NaN become strings."""
        return json.dumps(finite({"ok": self.ok, **dataclasses.asdict(self)}), indent=2, allow_nan=False)

    def summary(self) -> str:
        """Return the verdict, and a line for each kind of comparison, difference and note."""
        verdict = "computes the same" if self.ok else "DIFFERS" if self.difference else "was not compared"
        limit = f"ids are compared exactly, floats up to {self.tolerance:.0e} of the greatest magnitude of their tensor"
        tables = ", ".join(self.tables)
        others = f" and {self.others} other run{'s' * (self.others > 1)} of the session" if self.others else ""
        over = f"{self.steps} step{'s' * (self.steps != 1)}{others}"
        first = f"the rewritten graph {verdict} over {over} (tables: {tables}; {limit})"
        lines = [first, *map(str, self.compared), *([str(self.difference)] if self.difference else []), *self.notes]
        return "\n  ".join(lines)


#: For types with less precision than float32, a difference of this many units in the last place is accepted.
_UNITS = 4.0


@dataclass(frozen=True)
class Gap:
    """The greatest difference between elements of two arrays, and the greatest magnitude in the first."""

    amount: float
    scale: float
    limit: float

    @property
    def differs(self) -> bool:
        """Whether the difference is larger than rounding explains."""
        return not self.amount <= self.limit * self.scale

    @property
    def ratio(self) -> float:
        """The difference relative to the magnitude."""
        return self.amount / self.scale if self.scale else math.inf if self.amount else 0.0


def gap(original: Any, moved: Any, tolerance: float, scale: float = 0.0) -> Gap:
    """Compare two arrays; `scale` is a magnitude known from before. Values that are not floats must be equal."""
    original, moved = np.asarray(original), np.asarray(moved)
    exact = not (_floating(original) and _floating(moved))
    if original.shape != moved.shape:
        return Gap(math.inf, 1.0, 0.0 if exact else tolerance)
    if exact:
        return Gap(0.0 if np.array_equal(original, moved) else math.inf, 1.0, 0.0)
    limit = max(tolerance, _UNITS * _epsilon(original) if original.dtype.itemsize < 4 else 0.0)
    original, moved = original.astype(np.float64), moved.astype(np.float64)
    known = np.isfinite(original)
    if not np.array_equal(original[~known], moved[~known], equal_nan=True) or not np.isfinite(moved[known]).all():
        return Gap(math.inf, max(scale, 1.0), limit)
    original, moved = original[known], moved[known]
    if not original.size:
        return Gap(0.0, scale, limit)
    return Gap(float(np.abs(original - moved).max()), max(scale, float(np.abs(original).max())), limit)


def where(original: Any, moved: Any) -> str:
    """Describe where two arrays differ most."""
    original, moved = np.asarray(original), np.asarray(moved)
    if original.shape != moved.shape:
        return f"its shape is {list(moved.shape)} instead of {list(original.shape)}"
    if _floating(original):
        distance = np.nan_to_num(np.abs(original.astype(np.float64) - moved.astype(np.float64)), nan=math.inf)
    else:
        distance = np.asarray(original != moved)
    if not distance.size:
        return "it is empty"
    place = np.unravel_index(int(np.argmax(distance)), distance.shape)
    index = f" at [{', '.join(map(str, place))}]" if place else ""
    return (
        f"it is {moved[place]:.6g}{index} instead of {original[place]:.6g}"
        if _number(original)
        else f"it is different{index}"
    )


@dataclass
class _Item:
    """Statistics of an item: number of comparisons, worst gap, and greatest magnitude so far."""

    times: int = 0
    worst: Gap = field(default_factory=lambda: Gap(0.0, 0.0, 0.0))
    scale: float = 0.0
    #: its numbers in both graphs, one a step; of losses only
    numbers: list[tuple[float, float]] = field(default_factory=list)


class Tally:
    """Counts comparisons by kind and item, and keeps the worst of each."""

    def __init__(self, tolerance: float) -> None:
        self._tolerance = tolerance
        self._kinds: dict[str, dict[str, _Item]] = {}

    def add(self, kind: str, item: str, original: Any, moved: Any) -> Gap:
        """Compare two arrays of an item; the magnitude is the greatest of all its arrays so far."""
        known = self._kinds.setdefault(kind, {}).setdefault(item, _Item())
        difference = gap(original, moved, self._tolerance, known.scale)
        known.scale = difference.scale
        known.times += 1
        known.worst = max(difference, known.worst, key=_order)
        if kind == "losses" and np.size(original) == np.size(moved) == 1:
            known.numbers.append((float(np.ravel(original)[0]), float(np.ravel(moved)[0])))
        return difference

    def drop(self, kind: str, item: str) -> None:
        """Forget an item."""
        self._kinds[kind].pop(item)

    def items(self, kind: str) -> list[str]:
        """Return the items of a kind that were compared."""
        return list(self._kinds.get(kind, {}))

    def differ(self, kinds: Iterable[str]) -> bool:
        """Whether any item of these kinds was not equal to the last bit."""
        return any(one.worst.amount for kind in kinds for one in self._kinds.get(kind, {}).values())

    def compared(self) -> tuple[Compared, ...]:
        """Return the comparisons by kind."""
        return tuple(_compared(kind, items) for kind, items in self._kinds.items() if items)


def _order(difference: Gap) -> tuple[float, float]:
    return difference.ratio, difference.scale


def _compared(kind: str, items: dict[str, _Item]) -> Compared:
    worst = max((one.worst for one in items.values()), key=_order)
    times = sum(one.times for one in items.values())
    curves = tuple(
        Curve(name, *map(tuple, zip(*one.numbers, strict=True)))
        for name, one in items.items()
        if len(one.numbers) == one.times
    )
    return Compared(kind, tuple(items), times, worst.amount, worst.scale, worst.limit, curves)


def _floating(array: Any) -> bool:
    return bool(array.dtype.kind == "f" or array.dtype.name in ("bfloat16",))


def _number(array: Any) -> bool:
    return _floating(array) or array.dtype.kind in "iu"


def _epsilon(array: Any) -> float:
    return 2.0**-7 if array.dtype.name == "bfloat16" else float(np.finfo(array.dtype).eps)
