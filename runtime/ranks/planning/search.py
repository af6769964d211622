"""Finds placements of tables with a short step: from several starts, tables are moved one by one while that helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runtime.ranks.planning import loads
from runtime.ranks.planning.costs import Costs
from runtime.ranks.planning.loads import Load
from runtime.ranks.planning.uses import TableUse

#: A move must save more than rounding.
_GAIN = 1e-12
_SWEEPS = 20
#: Of many ranks, those with the least to do are tried for a whole table.
_TRIED = 4
_LOCALIZED = "localized"


@dataclass(frozen=True)
class Score:
    """How good placements are: first the bytes beyond the memory of a rank, then seconds."""

    over: float
    seconds: float

    def better(self, other: Score) -> bool:
        """Whether this is less by more than rounding."""
        if abs(self.over - other.over) > 0.5:
            return self.over < other.over
        return self.seconds < other.seconds - _GAIN


class Search:
    """The tables to place, and what each adds under each placement."""

    def __init__(
        self,
        uses: Mapping[str, TableUse],
        batch: int,
        ranks: int,
        memory_bytes: float | None,
        costs: Costs,
        allowed: Sequence[str],
    ) -> None:
        self.ranks, self._limit, self._costs = ranks, memory_bytes, costs
        self.loads: dict[str, dict[str, Load]] = {
            name: {one: loads.load_of(use, batch, ranks, one, costs) for one in loads.options(use, ranks, allowed)}
            for name, use in uses.items()
        }
        # The tables with the most to send or hold first: those that come last fill what is left.
        self._order = sorted(uses, key=lambda name: (-self._weight(name), name))
        self._kinds = [kind for kind in ("distributed", "replicated", _LOCALIZED, "columns") if kind in allowed]

    def best(self) -> dict[str, str]:
        """Return a placement for each table."""
        improved = [self._improved(self._started(kind)) for kind in self._kinds]
        best = improved[0]
        for candidate in improved[1:]:
            if self.score(self.total(candidate)).better(self.score(self.total(best))):
                best = candidate
        return best

    def total(self, placed: Mapping[str, str]) -> Load:
        """Return what all tables add together."""
        total = loads.nothing(self.ranks)
        for name, placement in placed.items():
            total = total.plus(self.loads[name][placement])
        return total

    def score(self, total: Load) -> Score:
        """Return how good a total is."""
        over = 0.0 if self._limit is None else float((total.memory - self._limit).clip(0).max())
        return Score(over, total.seconds(self._costs))

    def moved(self, total: Load, name: str, now: str, kind: str) -> tuple[str, Score] | None:
        """Return the best placement of a kind for one table if all others stay, with its score; None if it has none."""
        rest = total.plus(self.loads[name][now], -1)
        best: tuple[str, Score] | None = None
        for placement in self._tried(name, rest, kind):
            score = self.score(rest.plus(self.loads[name][placement]))
            if best is None or score.better(best[1]):
                best = placement, score
        return best

    def kinds_of(self, name: str) -> list[str]:
        """Return the kinds of placements that a table can have."""
        return [kind for kind in self._kinds if any(one.startswith(kind) for one in self.loads[name])]

    def _weight(self, name: str) -> float:
        return max(float((one.compute + one.ids + one.rows).max()) for one in self.loads[name].values())

    def _tried(self, name: str, rest: Load, kind: str) -> list[str]:
        every = [one for one in self.loads[name] if one.startswith(kind)]
        if kind != _LOCALIZED or len(every) <= _TRIED:
            return every
        busy = rest.compute + (rest.ids + rest.rows) * self._costs.byte
        quiet = {*busy.argsort(kind="stable")[:_TRIED], *rest.memory.argsort(kind="stable")[:_TRIED]}
        return [f"{loads.LOCALIZED}{rank}" for rank in sorted(quiet)]

    def _started(self, kind: str) -> dict[str, str]:
        """Return placements of one kind where tables can have it; whole tables are shared out by what they add."""
        placed: dict[str, str] = {}
        total = loads.nothing(self.ranks)
        for name in self._order:
            own = kind if kind in self.kinds_of(name) else self.kinds_of(name)[0]
            placement = min(
                self._tried(name, total, own),
                key=lambda candidate: (
                    (score := self.score(total.plus(self.loads[name][candidate]))).over,
                    score.seconds,
                ),
            )
            total = total.plus(self.loads[name][placement])
            placed[name] = placement
        return placed

    def _improved(self, placed: dict[str, str]) -> dict[str, str]:
        total = self.total(placed)
        score = self.score(total)
        for _ in range(_SWEEPS):
            before = score
            for name in self._order:
                for kind in self.kinds_of(name):
                    candidate = self.moved(total, name, placed[name], kind)
                    if candidate is not None and candidate[1].better(score):
                        total = total.plus(self.loads[name][placed[name]], -1).plus(self.loads[name][candidate[0]])
                        placed[name], score = candidate
            if not score.better(before):
                break
        return placed
