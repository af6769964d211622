"""A control for differences between training steps: the original, its tables' first rows moved in the last digit.

Some programs magnify rounding from step to step, until a last digit decides about a loss. Such a program drifts from
itself as far as a correct conversion drifts from it, and only the first steps can tell the two apart.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from migrate.errors import MigrateError
from migrate.report.model import Comparison
from migrate.verify import compare, progress, workers

Result = Mapping[str, Any]

#: Factor by which a difference may exceed the control's, for each step: a step may round each row once more.
_MARGIN = 2.0
#: Seeds of the random signs of two such changes; the larger difference counts.
_SEEDS = (0, 1)


class Control:
    """Runs the original twice more, once a difference is to be explained."""

    def __init__(self, first: Result, side: str) -> None:
        """Take the result of the original, with what it was run with, and the worker that ran it."""
        self._first, self._side = first, side

    def explained(
        self, found: Comparison, apart: Sequence[tuple[int, float]], values_of: Callable[[Result], Any]
    ) -> Comparison:
        """Return `found`, not as a difference if the original differs from itself as much.

        Args:
            found: the comparison.
            apart: how many steps were taken before, and by how much the two programs then differ, where they do.
            values_of: gives the values that were compared, from a recorded step.
        """
        begun = not apart or any(at == 0 for at, _ in apart)  # both programs start from the same values
        if found.verdict != "differs" or not np.isfinite(found.max_abs) or begun:
            return found
        moved = [self._moved_by(at, values_of) for at, _ in apart]
        if all(gap <= _MARGIN * at * one < np.inf for (at, gap), one in zip(apart, moved, strict=True)):
            return compare.as_itself(found, max(moved))
        return found

    def _moved_by(self, at: int, values_of: Callable[[Result], Any]) -> float:
        own = np.asarray(values_of(self._first["steps"][at]), np.float64)
        return max(float(np.abs(np.asarray(values_of(one["steps"][at])) - own).max()) for one in self._twins)

    @functools.cached_property
    def _twins(self) -> list[Result]:
        progress.expect(len(_SEEDS))
        job = {key: self._first[key] for key in ("path", "directory", "settings")}
        found = workers.run_together([(self._side, {**job, "nudge": seed}) for seed in _SEEDS])
        for one in found:
            if isinstance(one, MigrateError):
                raise one
        return [one for one in found if not isinstance(one, MigrateError)]
