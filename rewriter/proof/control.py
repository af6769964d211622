"""A control for differences: the original compared with itself, its tables' first rows changed in the last digit.

A model can magnify rounding: attention with sharp weights turns the last digit of a row into another loss. If the
original does so itself, a difference of the same size says nothing about the rewrite.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewriter.proof.again import Found, value_of
from rewriter.proof.both import Both
from rewriter.proof.measure import Gap, gap
from rewriter.proof.nudging import SEEDS, nudged
from rewriter.proof.recording import Recording
from rewriter.proof.replay import Side
from rewriter.proof.watch import Watch

__all__ = ["Control"]


class Control:
    """Runs the original and its changed twins up to the steps that are asked for, in order."""

    def __init__(self, both: Both, recording: Recording, watch: Watch) -> None:
        self._both, self._recording, self._watch = both, recording, watch
        self._plain = Side(both.original.definition)
        self._twins = [Side(both.original.definition) for _ in SEEDS]
        self._step = 0
        self._values: list[Mapping[str, Any]] = []

    def moved_by(self, found: Found) -> Gap:
        """Return the greatest difference between the original and its twins in what was found."""
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
        for side, seed in zip(self._twins, SEEDS, strict=True):
            side.start({**started, **{str(part.initial): nudged(rows[part.name], seed) for part in parts}})

    def _run(self, number: int) -> None:
        """Run a step; the twins use the original's gradients, as the rewritten graph did."""
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
