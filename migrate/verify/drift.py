"""A witness of differences between training steps: the original, its tables' first rows moved in the last digit.

Some programs magnify rounding from step to step, until a last digit decides about a loss. Such a program drifts from
itself as far as a correct conversion drifts from it, and only the first steps can tell the two apart.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from migrate.report.model import Comparison
from migrate.verify import rounding, workers
from migrate.verify.recording import STAGE, Moment, Recording
from rewriter.nudging import SEEDS, allowed


class Drift:
    """Runs the original twice more, once a difference is to be explained."""

    def __init__(
        self,
        recording: Recording,
        worker: str,
        job: Mapping[str, Any],
        joined: Callable[[Recording], Recording],
    ) -> None:
        """Take the original's recording, the worker that made it, its job, and what joins parts of variables."""
        self._recording, self._worker, self._job, self._joined = recording, worker, job, joined

    def explained(
        self, result: Comparison, gaps: Sequence[tuple[int, float]], values_of: Callable[[Moment], Any]
    ) -> Comparison:
        """Return `result`, not as a difference if the original differs from itself as much.

        Args:
            result: the comparison.
            gaps: how many steps were taken before, and by how much the two programs then differ, where they do.
            values_of: gives the values that were compared, from a recorded step.
        """
        at_once = not gaps or any(at == 0 for at, _ in gaps)  # both programs start from the same values
        if result.verdict != "differs" or not np.isfinite(result.max_abs) or at_once:
            return result
        moved = [self._moved_by(at, values_of) for at, _ in gaps]
        if all(gap <= allowed(at, by) < np.inf for (at, gap), by in zip(gaps, moved, strict=True)):
            return rounding.by_drift(result, max(moved))
        return result

    def _moved_by(self, at: int, values_of: Callable[[Moment], Any]) -> float:
        own, *others = (
            np.asarray(values_of(one.steps[STAGE][at]), np.float64) for one in (self._recording, *self._twins)
        )
        return max(float(np.abs(other - own).max()) for other in others)

    @functools.cached_property
    def _twins(self) -> list[Recording]:
        workers.expect(len(SEEDS))
        twins = workers.run_all([(self._worker, {**self._job, "nudge": seed}) for seed in SEEDS])
        return [self._joined(twin["recording"]) for twin in twins]
