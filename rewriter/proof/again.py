"""Whether the original agrees with itself where the rewritten graph differs: some models race, or draw from outside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rewriter.proof.both import Both, MovedTable
from rewriter.proof.measure import Gap, gap
from rewriter.proof.recording import Recording
from rewriter.proof.replay import Side
from rewriter.proof.watch import Pair, Watch

__all__ = ["Again", "Found"]


@dataclass(frozen=True)
class Found:
    """Something that differs: a pair of tensors at a step, or the state of a variable or table after it.

    `one` is the value that the original has there, of a table at the rows `keys` if these are given.
    """

    step: int
    kind: str
    item: str
    gap: Gap
    detail: str
    one: Any = field(repr=False)
    pair: Pair | None = None
    table: MovedTable | None = None
    keys: Any = field(default=None, repr=False)


class Again:
    """Runs the original anew, in a session beside the others."""

    def __init__(self, both: Both, recording: Recording, watch: Watch) -> None:
        self._both, self._recording, self._watch = both, recording, watch
        self._side = Side(both.original.definition)

    def agrees(self, found: Found) -> bool:
        """Whether what differs is, in the original, what it was."""
        if found.one is None:
            return True
        self._side.start(self._both.started)
        try:
            again = self._value(found)
        finally:
            self._side.close()
        return not gap(found.one, again, found.gap.limit, found.gap.scale).differs

    def _value(self, found: Found) -> Any:
        for number, step in enumerate(self._recording.steps[: found.step], 1):
            watched = self._watch.of(step)
            before = self._side.run([], step.feeds, [str(pair.original) for pair in watched.before])
            within = self._side.run(step.fetches, step.feeds, [str(pair.original) for pair in watched.within])
            if number == found.step and found.pair is not None:
                return {**before, **within}[str(found.pair.original)]
        if found.keys is not None:
            return self._side.rows(found.item, found.keys)
        return self._side.variable(found.item)
