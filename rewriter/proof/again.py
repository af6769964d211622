"""Checks whether the original reproduces a value that differs: some models have races or read outside state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rewriter.proof.both import Both, MovedTable
from rewriter.proof.measure import Gap, gap
from rewriter.proof.recording import Recording
from rewriter.proof.replay import Side
from rewriter.proof.watch import Pair, Watch

__all__ = ["Again", "Found", "value_of"]


@dataclass(frozen=True)
class Found:
    """A difference: a pair of tensors at a step, or the state of a variable or table after it.

    `one` is the original's value; for a table, that of the rows `keys` if these are given.
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
    """Runs the original a second time, in a session of its own."""

    def __init__(self, both: Both, recording: Recording, watch: Watch) -> None:
        self._both, self._recording, self._watch = both, recording, watch
        self._side = Side(both.original.definition)

    def agrees(self, found: Found) -> bool:
        """Whether the second run of the original gives the same value as the first."""
        if found.one is None:
            return True
        self._side.start(self._both.started)
        try:
            again = self._value(found)
        finally:
            self._side.close()
        return not gap(found.one, again, found.gap.limit, found.gap.scale).differs

    def _value(self, found: Found) -> Any:
        values: dict[str, Any] = {}
        for step in self._recording.steps[: found.step]:
            watched = self._watch.of(step)
            before = self._side.run([], step.feeds, [str(pair.original) for pair in watched.before])
            within = self._side.run(step.fetches, step.feeds, [str(pair.original) for pair in watched.within])
            values = {**before, **within}
        return value_of(self._both, self._side, found, values)


def value_of(both: Both, side: Side, found: Found, values: Mapping[str, Any]) -> Any:
    """Return the value of `found` in the original on `side`, which is at that step; `values` are the step's results."""
    if found.pair is not None:
        return found.pair.of_table(values[str(found.pair.original)])
    if found.table is None:
        return side.variable(found.item)
    slots = found.table.table.pieces[0].slots
    keys = np.arange(found.table.table.rows) if found.keys is None else found.keys
    return both.rows_of(side, found.table.table, keys, slots.index(found.item) if found.item in slots else None)
