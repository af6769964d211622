"""Runs two eager Keras programs in worker processes and returns their results.

Each program whose functions are traced runs twice: with them eager, to see each value, and as its user runs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from migrate.errors import MigrateError
from migrate.verify import distributions, progress, workers

Result = Mapping[str, Any]
SIDE = "migrate.verify.keras.side"
#: How near the first losses in float64 must be to count as those of the same computation.
_NEAR = 1e-3


def original(job: Mapping[str, Any], traced: bool) -> dict[str, Any]:
    """Run and record the original, and, as `runs`, each of its runs; raises MigrateError if one fails."""
    jobs = [job, {**job, "traced": True}][: 1 + traced]
    # `in_float64` runs it once more where something differs; until then the original is the reference.
    runs = [
        {**job, **ran, "eager": True, "double": {"passes": ran["passes"], "steps": ran["steps"]}}
        for job, ran in zip(jobs, workers.run_all([(SIDE, job) for job in jobs]), strict=True)
    ]
    return {**runs[0], "runs": runs}


def in_float64(first: Result) -> Result | str:
    """Return the passes and steps of the original in float64, or a sentence why there are none.

    Keras' default type is float64 then. A program that names float32 itself may fail by it, and dropout draws other
    numbers in it: then the losses of the passes, which begin with the same weights, are no longer near.
    """
    progress.expect(1)
    job = {key: first[key] for key in ("path", "directory", "settings", "traced") if key in first}
    try:
        wide = workers.run(SIDE, {**job, "wide": first["state"]})
    except MigrateError as error:
        return f"no float64 reference, because the program fails in float64: {str(error).splitlines()[0][:200]}"
    starts = [side["passes"] or side["steps"][:1] for side in (first, wide)]
    sides = [[np.array(batch["losses"], np.float64) for batch in start] for start in starts]
    if not all(one.shape == two.shape and np.allclose(one, two, _NEAR) for one, two in zip(*sides, strict=True)):
        return "no float64 reference, because the program draws other random numbers in float64, or computes otherwise"
    return {"passes": wide["passes"], "steps": wide["steps"]}


def converted(first: Result, path: str) -> list[tuple[Result, Result]]:
    """Run a converted program as often as the original was run, and return the results of both for each run.

    Raises:
        MigrateError: the program cannot be recorded, or does not match the original.
    """
    names = ("directory", "settings", "state", "known", "traced")
    jobs = [{"path": path, **{key: run[key] for key in names if key in run}} for run in first["runs"]]
    results = zip(first["runs"], workers.run_all([(SIDE, job) for job in jobs]), strict=True)
    return [_matched({**first, **own}, second, path) for own, second in results]


def _matched(first: Result, second: Result, path: str) -> tuple[Result, Result]:
    """Return the results of one run, with what is known of both programs; raises MigrateError as `converted`."""
    for moments in ("passes", "steps"):
        counts = [[len(one["losses"]) for one in side[moments]] for side in (first, second)]
        if counts[0] != counts[1]:
            raise MigrateError(
                f"{path}: computes gradients of other losses than the original; give the converted program"
            )
    lookups = second["passes"][0]["lookups"] if second["passes"] else {}
    tables = {
        name: replace(table, lookups=tuple(f"{i}" for i in range(len(lookups.get(name, [])))))
        for name, table in second["program"].tables.items()
    }
    program = replace(second["program"], tables=tables)
    known_laws, own_laws = _distributions(first, second)
    return {**first, "distributions": known_laws}, {**second, "program": program, "distributions": own_laws}


def _distributions(first: Result, second: Result) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the distributions of initial values of both programs; None for equal values.

    The original's values must fit the distribution of the table. Other random values, which differ if the programs
    create variables in another order, are compared by mean and variance.
    """
    one: dict[str, Any] = {}
    for name, table in second["program"].tables.items():
        same = np.array_equal(first["initial"][name], second["rows"][name])
        one[name] = None if same else distributions.distribution_at(table.distribution, 0)
    for name, values in second["initial"].items():
        own = first["initial"][name]
        same = np.array_equal(own, values) or own.size < 2 or not own.std()
        one[name] = None if same else distributions.Distribution("normal", float(own.mean()), float(own.std()))
    return one, {name: one[name] for name in second["initial"]}
