"""Runs two eager Keras programs in worker processes and returns their results.

Each program whose functions are traced runs twice: with them eager, to see each value, and as its user runs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from migrate.errors import MigrateError
from migrate.verify import batches, workers
from migrate.verify.batches import Unsteady, unsteady
from migrate.verify.distributions import Distribution
from migrate.verify.recording import STAGE, Array, Recording

Result = Mapping[str, Any]
SIDE = "migrate.verify.keras.side"
#: How near losses in float64 must be to count as those of the same computation.
_NEAR = 1e-3
_TRACED = " with functions traced"
#: Further runs of an original whose batches were the same twice, though those of the converted program are others.
_MORE = 2


def original(job: Mapping[str, Any], traced: bool) -> dict[str, Any]:
    """Run and record the original, and, as `runs`, each of its runs; raises MigrateError if one fails."""
    jobs = [{**job, "how": " step by step"}, {**job, "traced": True, "how": _TRACED}][: 1 + traced]
    ran = workers.run_all([(SIDE, job) for job in jobs])
    runs = [{**job, **one, "eager": True, "double": None} for job, one in zip(jobs, ran, strict=True)]
    return {**runs[0], "runs": runs}


def run_again(first: Result, other: Recording) -> tuple[Recording | str, Unsteady | None]:
    """Run the original in float64, and once more as it is, where the recording of the converted program differs.

    Return its recording in float64, or a sentence why there is none; and what two runs of it compute differently.
    Batches that processes make in turns may come in one order twice: where the other program is given other ones, or
    differs only with its functions traced, which hides them, the original runs a few times more.
    """
    own: Recording = first["recording"]
    job = {key: first[key] for key in ("path", "directory", "settings", "traced") if key in first}
    job |= {"lead": own.steps[STAGE], "how": " once more"}
    workers.expect(2)
    wide, again = workers.run_together([(SIDE, {**job, "wide": own.weights}), (SIDE, job)])
    irregular = _unsteady(first, again)
    for _ in range(_MORE if "traced" in first or any(batches.inputs(own, other)) else 0):
        irregular = irregular or _unsteady(first, *workers.run_together([(SIDE, job)]))
    return float64_of(own, wide), irregular


def _unsteady(first: Result, again: dict[str, Any] | MigrateError) -> Unsteady | None:
    return None if isinstance(again, MigrateError) else unsteady(first["path"], first["recording"], again["recording"])


def float64_of(own: Recording, wide: dict[str, Any] | MigrateError) -> Recording | str:
    """Return the recording of the original in float64, or a sentence why there is none.

    Keras' default type is float64 then. A program that names float32 itself may fail by it, or draw other numbers: then
    losses are no longer near, though each begins with the same weights.
    """
    if isinstance(wide, MigrateError):
        return workers.no_reference(wide)
    recording: Recording = wide["recording"]
    starts = [[*side.passes, *side.steps[STAGE]] for side in (own, recording)]
    if not all(batches.near(one, two, _NEAR) for one, two in zip(*starts, strict=True)):
        return "no float64 reference, because the program draws other random numbers in float64, or computes otherwise"
    return recording


def converted(first: Result, path: str) -> list[tuple[Result, Result]]:
    """Run a converted program as often as the original was run, and return the results of both for each run.

    Raises:
        MigrateError: the program cannot be recorded, or does not match the original.
    """
    names = ("directory", "settings", "known", "traced")
    jobs = [
        {
            "path": path,
            "state": run["recording"].weights,
            "lead": run["recording"].steps[STAGE],
            "how": _TRACED if "traced" in run else "",
            **{key: run[key] for key in names if key in run},
        }
        for run in first["runs"]
    ]
    results = zip(first["runs"], workers.run_all([(SIDE, job) for job in jobs]), strict=True)
    return [_matched({**first, **own}, second, path) for own, second in results]


def _matched(first: Result, second: Result, path: str) -> tuple[Result, Result]:
    """Return the results of one run, with the distributions of initial values; raises MigrateError as `converted`."""
    own, other = first["recording"], second["recording"]
    most = len(other.steps[STAGE]) if other.freed else None
    counts = [[len(one.losses) for one in (*side.passes, *side.steps[STAGE][:most])] for side in (own, other)]
    if counts[0] != counts[1]:
        raise MigrateError(f"{path}: computes gradients of other losses than the original; give the converted program")
    laws = {
        name: _law(own.initial[name], values, other.distributions.get(name)) for name, values in other.initial.items()
    }
    # Steps of traced functions have no values of their own to begin with.
    initial = other.initial if own.passes else {}
    return (
        {**first, "recording": replace(own, distributions=laws)},
        {**second, "recording": replace(other, initial=initial, distributions={**laws, **other.distributions})},
    )


def _law(own: Array, values: Array, table: Distribution | None) -> Distribution | None:
    """Return the distribution of initial values of both programs; None for equal values.

    The original's values must fit the distribution of the table. Other random values, which differ if the programs
    create variables in another order, are compared by mean and variance.
    """
    if np.array_equal(own, values) or (table is None and (own.size < 2 or not own.std())):
        return None
    return table or Distribution("normal", float(own.mean()), float(own.std()))
