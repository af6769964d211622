"""Runs two eager Keras programs in worker processes and returns their results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from migrate.errors import MigrateError
from migrate.verify import laws, workers

Result = Mapping[str, Any]
SIDE, TRACED = "migrate.verify.keras.side", "migrate.verify.keras.traced"


def original(job: Mapping[str, Any]) -> dict[str, Any]:
    """Run and record the original; raises MigrateError if that fails."""
    first = workers.run(SIDE, job)
    # There is no float64 run, so the original is the reference.
    return {**first, "eager": True, "double": {"passes": first["passes"], "steps": first["steps"]}}


def converted(first: Result, path: str) -> tuple[Result, Result]:
    """Run a converted program as the original was run, and as its user runs it; return the results of the first.

    Raises:
        MigrateError: the program cannot be recorded, or does not match the original.
    """
    known = {key: first[key] for key in ("directory", "settings", "state", "known")}
    job = {**known, "path": path}
    second, traced = workers.run_together([(SIDE, job), (TRACED, job)])
    for result in (second, traced):
        if isinstance(result, MigrateError):
            raise result
    assert not isinstance(second, MigrateError)
    for moments in ("passes", "steps"):
        counts = [[len(one["losses"]) for one in side[moments]] for side in (first, second)]
        if counts[0] != counts[1]:
            raise MigrateError(
                f"{path}: computes gradients of other losses than the original; give the converted program"
            )
    tables = {
        name: replace(table, lookups=tuple(f"{i}" for i in range(len(second["passes"][0]["lookups"].get(name, [])))))
        for name, table in second["program"].tables.items()
    }
    program = replace(second["program"], tables=tables)
    known_laws, own_laws = _laws(first, second)
    return {**first, "laws": known_laws}, {**second, "program": program, "laws": own_laws}


def _laws(first: Result, second: Result) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the distributions of initial values of both programs; None for equal values.

    The original's values must fit the distribution of the table. Other random values, which differ if the programs
    create variables in another order, are compared by mean and variance.
    """
    one: dict[str, Any] = {}
    for table, name in second["matched"].items():
        own, rows = first["initial"][name], second["rows"][table]
        one[name] = None if np.array_equal(own, rows) else laws.law_at(second["program"].tables[table].law, 0)
    for name, values in second["initial"].items():
        own = first["initial"][name]
        same = np.array_equal(own, values) or own.size < 2 or not own.std()
        one[name] = None if same else laws.Law("normal", float(own.mean()), float(own.std()))
    return one, {name: one[name] for name in second["initial"]}
