"""The result of a proof as data: what was compared, how large differences were, and the first tensor that differs."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from math import isfinite, isinf
from typing import Any

__all__ = ["Compared", "Curve", "Difference", "Proof"]


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
