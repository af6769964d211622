"""The control of a difference: the original beside itself with the first rows of its tables nudged in the last place.

A model may magnify rounding: attention with sharp weights turns the last digit of a row into another loss. Where the
original does so itself, a difference that is no greater says nothing of the rewrite.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rewriter.proof.again import Found, value_of
from rewriter.proof.both import Both
from rewriter.proof.measure import Gap, gap
from rewriter.proof.recording import Recording
from rewriter.proof.replay import Side
from rewriter.proof.watch import Watch

__all__ = ["Control", "nudged"]

#: How much more than the control's a difference may be, for each step: a step may round each row once more.
_MARGIN = 2.0
#: Every nudge is another draw of signs; the greatest difference counts.
_SEEDS = (0, 1)
#: The magnitude of which a table of zeros is taken to be: that of rows after a step.
_SMALL = 0.01


def nudged(rows: Any, seed: int) -> Any:
    """Return float rows, each number a unit in its last place greater or smaller; zeros by that of the largest."""
    sizes = np.abs(rows)
    largest = sizes.max(initial=0.0) or np.float32(_SMALL)
    units = np.spacing(np.where(sizes > 0, sizes, largest).astype(rows.dtype))
    signs = np.random.default_rng(seed).choice(np.array([-1.0, 1.0], rows.dtype), rows.shape)
    return rows + signs * units


class Control:
    """Runs the original and its nudged twins step by step, as far as differences are asked for, in order of steps."""

    def __init__(self, both: Both, recording: Recording, watch: Watch) -> None:
        self._both, self._recording, self._watch = both, recording, watch
        self._plain = Side(both.original.definition)
        self._twins = [Side(both.original.definition) for _ in _SEEDS]
        self._step = 0
        self._values: list[Mapping[str, Any]] = []

    @staticmethod
    def allowed(step: int, amount: float) -> float:
        """Return how much may differ after so many steps where a nudge makes a difference of `amount`."""
        return _MARGIN * step * amount

    def moved_by(self, found: Found) -> Gap:
        """Return the greatest difference that a nudge makes to what was found."""
        self._advance(found.step)
        runs = zip(self._twins, self._values, strict=True)
        values = (value_of(self._both, side, found, known) for side, known in runs)
        gaps = (gap(found.one, value, found.gap.limit, found.gap.scale) for value in values)
        return max(gaps, key=lambda one: one.amount)

    def close(self) -> None:
        """End all sessions."""
        for side in (self._plain, *self._twins):
            side.close()

    def _advance(self, step: int) -> None:
        if self._step == 0 and step:
            self._start()
        while self._step < step:
            self._run(self._step)
            self._step += 1

    def _start(self) -> None:
        started = dict(self._both.started)
        self._plain.start(started)
        parts = [part for table in self._both.plan.tables for part in table.pieces]
        rows = self._plain.values(part.name for part in parts)
        for side, seed in zip(self._twins, _SEEDS, strict=True):
            side.start({**started, **{str(part.initial): nudged(rows[part.name], seed) for part in parts}})

    def _run(self, number: int) -> None:
        """Run a step, the twins with the gradients of the original, as the rewritten graph ran it."""
        step = self._recording.steps[number]
        watched = self._watch.of(step)
        before = [str(pair.original) for pair in watched.before]
        within = [str(pair.original) for pair in watched.within]
        known = [side.run([], step.feeds, before) for side in self._twins]
        forced = self._plain.run(step.fetches, step.feeds, watched.forced)
        feeds = {**step.feeds, **forced}
        self._values = [
            {**one, **side.run(step.fetches, feeds, within)} for side, one in zip(self._twins, known, strict=True)
        ]
