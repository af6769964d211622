"""What a trial found, as data, and its JSON."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from migrate.report.serialize import encoded
from migrate.report.words import largest
from migrate.trial.running import Ended

FORMAT, VERSION = "recmigrate-trial", 1
#: The largest relative difference of two losses that counts as rounding.
ROUNDING = 1e-5
_FLOAT = 4  #: bytes


@dataclass(frozen=True)
class Ids:
    """Ids that were hashed, or divided, to rows: counted before that."""

    ids: int  #: that differ
    rows: int  #: that they became
    sharing: int  #: ids whose row another one has, too
    lookups: int  #: how often these ids were looked up
    lookups_sharing: int  #: how often of these an id whose row another one has, too


@dataclass(frozen=True)
class Table:
    """A variable that became a table."""

    name: str
    shape: tuple[int, ...]  #: of the variable
    slots: int  #: optimizer slots of each row
    rules: tuple[str, ...]  #: of the optimizers that train it
    lookups: int
    place: str  #: the line that makes the variable
    before: int  #: bytes of the variable and its slots
    after: int  #: bytes of the table with every row of the variable: rows, slots, index, reserved memory included
    on_demand: int | None  #: the same of one with the rows that were needed; None if rows cannot begin on demand
    rows: tuple[int, ...]  #: that were needed until each step: ids that were looked up; empty if that is not known
    bound: str = ""  #: why it cannot grow; empty if it can, or if that is not known
    ids: Ids | None = None

    @property
    def used(self) -> int | None:
        """Rows that were needed by all steps; None if that is not known."""
        return self.rows[-1] if self.rows else None


@dataclass(frozen=True)
class Stay:
    """A variable that is looked up and stays."""

    variable: str
    shape: tuple[int, ...]
    reason: str


@dataclass(frozen=True)
class Losses:
    """A loss of both programs, one number a step."""

    name: str
    original: tuple[float, ...]
    tables: tuple[float, ...]

    @property
    def largest(self) -> float:
        """The largest relative difference of a step; nan if one loss is not finite and the other is."""
        return largest(_relative(a, b) for a, b in zip(self.original, self.tables, strict=True))


@dataclass(frozen=True)
class Time:
    """Milliseconds of a step, the median, and the ratio of both: median and middle half over pairs of turns."""

    original: float
    tables: float
    ratio: float
    low: float
    high: float
    steps: int  #: of each side that were timed
    turns: int


@dataclass(frozen=True)
class Trial:
    """The result of a trial."""

    command: str
    verdict: str  #: `equal`, `proved`, `differs`, `stops`, `no tables`, `not compared`
    steps: tuple[int, int]  #: that the original took, and that the program with tables took
    tables: tuple[Table, ...]
    stays: tuple[Stay, ...]
    stay_lines: tuple[str, ...]  #: a sentence for each reason
    growth: tuple[str, ...]  #: which tables can grow, and what bounds the others: a sentence for each bound
    losses: tuple[Losses, ...]
    time: Time | None
    proof: str  #: what `verify` said, on equal rows and batches, where losses were not equal; else empty
    notes: tuple[str, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether the program with tables does what the original does not."""
        return self.verdict in ("differs", "stops")

    def to_json(self) -> str:
        """Return the JSON text; numbers that are not finite are texts."""
        return json.dumps({"format": FORMAT, "version": VERSION, **encoded(self)}, indent=1, allow_nan=False) + "\n"


def losses_of(original: Ended, moved: Ended) -> tuple[Losses, ...]:
    """Return the losses that both computed at the same steps, as far as both went."""
    steps = min(original.steps, moved.steps)
    losses = []
    for name, ours in original.data.get("losses", {}).items():
        theirs = moved.data.get("losses", {}).get(name, ())
        pairs = [(a, b) for a, b in zip(ours[:steps], theirs[:steps], strict=False) if a is not None and b is not None]
        if pairs:
            losses.append(Losses(name, tuple(a for a, _ in pairs), tuple(b for _, b in pairs)))
    return tuple(sorted(losses, key=lambda loss: -len(loss.original)))


def are_equal(losses: Sequence[Losses]) -> bool:
    """Whether there are losses and they differ by rounding at most."""
    return bool(losses) and all(one.largest <= ROUNDING for one in losses)


def tables_of(original: Ended, moved: Ended, counted: Ended | None) -> tuple[Table, ...]:
    """Return the tables, those with the largest variables first; `counted` ran with rows on demand."""
    seen = counted.data if counted is not None else {}
    slots = original.data.get("slots", {})
    tables = (
        _table({**one, "slots": one["slots"] or slots.get(str(tuple(one["shape"])), 0)}, moved.data, seen)
        for one in moved.data.get("tables", ())
    )
    return tuple(sorted(tables, key=lambda table: -table.before))


def _table(moving: Mapping[str, Any], moved: Mapping[str, Any], counted: Mapping[str, Any]) -> Table:
    name, shape = moving["name"], tuple(moving["shape"])
    rows = [number for number in (counted.get("needed", {}).get(name) or ()) if number is not None]
    every = moved.get("bytes", {}).get(name, 0)
    on_demand = None
    if rows and moving["on_demand"]:  # a checkpoint may have put more rows in than were needed
        has = next((one for one in reversed(counted["rows"].get(name, ())) if one), rows[-1])
        on_demand = round(counted["bytes"].get(name, every) * min(1.0, rows[-1] / has))
    before = math.prod(shape) * _FLOAT * (1 + moving["slots"])
    place = moving["made"].partition(" in ")[0]
    rules = tuple(moving["rules"])
    ids = _ids(counted.get("raw", {}).get(name, ()))
    sizes = before, every, on_demand, tuple(rows)
    return Table(name, shape, moving["slots"], rules, moving["lookups"], place, *sizes, moving["bound"], ids)


def _ids(rows: Sequence[tuple[int, int]]) -> Ids | None:
    """Return the count of what became rows, of which each has so many ids and lookups; None if there are none."""
    shared = [(ids, lookups) for ids, lookups in rows if ids > 1]
    ids, lookups = (sum(counts) for counts in zip(*rows, strict=True)) if rows else (0, 0)
    return Ids(ids, len(rows), sum(one for one, _ in shared), lookups, sum(one for _, one in shared)) if rows else None


def time_of(original: Ended, moved: Ended, block: int) -> Time | None:
    """Return the times of steps, without the first of each turn and, where there are others, those of the first."""
    blocks = [
        [seconds["seconds"][start : start + block][1:] for start in range(0, one.steps, block)]
        for one, seconds in ((original, original.data), (moved, moved.data))
    ]
    pairs = [(a, b) for a, b in zip(*blocks, strict=False) if a and b]
    pairs = pairs[1:] or pairs
    if not pairs:
        return None
    ratios = [statistics.median(b) / statistics.median(a) for a, b in pairs]
    low, _, high = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    ours, theirs = ([1000 * one for pair in pairs for one in pair[side]] for side in (0, 1))
    medians = statistics.median(ours), statistics.median(theirs), statistics.median(ratios)
    return Time(*medians, low, high, min(len(ours), len(theirs)), len(pairs))


def _relative(a: float, b: float) -> float:
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    return abs(a - b) / max(abs(a), abs(b))
