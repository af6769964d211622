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
from migrate.verify import progress, rounding, workers
from rewriter.nudging import SEEDS, allowed

Result = Mapping[str, Any]


class Drift:
    """Runs the original twice more, once a difference is to be explained."""

    def __init__(self, original: Result, worker: str, joined: Callable[[Result], Result] = dict) -> None:
        """Take the result of the original, with its job, the worker that ran it, and what joins parts of variables."""
        self._original, self._worker, self._joined = original, worker, joined

    def explained(
        self, result: Comparison, gaps: Sequence[tuple[int, float]], values_of: Callable[[Result], Any]
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

    def _moved_by(self, at: int, values_of: Callable[[Result], Any]) -> float:
        own = np.asarray(values_of(self._whole["steps"][at]), np.float64)
        return max(float(np.abs(np.asarray(values_of(twin["steps"][at])) - own).max()) for twin in self._twins)

    @functools.cached_property
    def _whole(self) -> Result:
        return self._joined(self._original)

    @functools.cached_property
    def _twins(self) -> list[Result]:
        progress.expect(len(SEEDS))
        # Batches are those of a session, Keras makes its own.
        known = ("path", "directory", "settings", "batches", "state", "traced")
        job = {key: self._original[key] for key in known if key in self._original}
        twins = workers.run_all([(self._worker, {**job, "nudge": seed}) for seed in SEEDS])
        return [self._joined(twin) for twin in twins]
