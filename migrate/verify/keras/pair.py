"""Runs two eager Keras programs in worker processes and returns their results.

Each program whose functions are traced runs twice: with them eager, to see each value, and as its user runs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from migrate.errors import MigrateError
from migrate.verify import workers
from migrate.verify.distributions import Distribution
from migrate.verify.recording import STAGE, Array, Recording

Result = Mapping[str, Any]
SIDE = "migrate.verify.keras.side"
#: How near losses in float64 must be to count as those of the same computation.
_NEAR = 1e-3


def original(job: Mapping[str, Any], traced: bool) -> dict[str, Any]:
    """Run and record the original, and, as `runs`, each of its runs; raises MigrateError if one fails."""
    jobs = [job, {**job, "traced": True}][: 1 + traced]
    # `in_float64` runs it once more where something differs.
    ran = workers.run_all([(SIDE, job) for job in jobs])
    runs = [{**job, **one, "eager": True, "double": None} for job, one in zip(jobs, ran, strict=True)]
    return {**runs[0], "runs": runs}


def in_float64(first: Result) -> Recording | str:
    """Return the recording of the original in float64, or a sentence why there is none.

    Keras' default type is float64 then. A program that names float32 itself may fail by it, or draw other numbers: then
    losses are no longer near, though each begins with the same weights.
    """
    workers.expect(1)
    job = {key: first[key] for key in ("path", "directory", "settings", "traced") if key in first}
    own: Recording = first["recording"]
    try:
        wide: Recording = workers.run(SIDE, {**job, "wide": own.weights, "lead": own.steps.get(STAGE, ())})["recording"]
    except MigrateError as error:
        return f"no float64 reference, because the program fails in float64: {str(error).splitlines()[0][:200]}"
    starts = [[np.array(one.losses) for one in (*side.passes, *side.steps.get(STAGE, ()))] for side in (own, wide)]
    if not all(one.shape == two.shape and np.allclose(one, two, _NEAR) for one, two in zip(*starts, strict=True)):
        return "no float64 reference, because the program draws other random numbers in float64, or computes otherwise"
    return wide


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
