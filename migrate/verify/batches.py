"""Tells a fault from a program that does not repeat itself: which batches two runs read. Pure numpy.

A batch is known by what the first layer on a tape is given, by the rows that are looked up in it, which begin with the
same values in each run, and by its loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from migrate.report.model import Comparison
from migrate.verify.compare import compare
from migrate.verify.recording import Moment, Recording

INPUTS = "inputs"  #: the stage, in the report
VERDICT = "not-comparable"


@dataclass(frozen=True)
class Unsteady:
    """What two runs of the original itself compute differently."""

    sentence: str  #: with what usually causes it, and the remedy
    spared: frozenset[str]  #: stages that do not depend on it: what differs there is a fault

    def judged(self, compared: Iterable[Comparison]) -> Iterator[Comparison]:
        """Yield comparisons, in which what may differ by this alone is not comparable."""
        for one in compared:
            excused = one.verdict in ("differs", "undetermined") and one.stage not in self.spared and one.max_abs > 0
            yield replace(one, verdict=VERDICT) if excused else one


def unsteady(path: str, first: Recording, again: Recording) -> Unsteady | None:
    """Return what two runs of the program at `path` read or compute differently; None where they are equal."""
    for number, moments in enumerate(zip(_moments(first), _moments(again), strict=False), start=1):
        label = next(_other_batch(*moments), "")
        if label:
            return Unsteady(
                f"two runs of {path} read different batches, from batch {number} of those compared (`{label}`), so no "
                "other program can be compared with it. Usually several processes or threads make the batches, or a "
                "shuffle has no seed: let one process make them (such as `n_workers=1`), give the shuffle a seed, and "
                "verify again",
                frozenset({"initial"}),
            )
        if not near(*moments, 1e-5):
            return Unsteady(
                f"two runs of {path} have different losses, from batch {number} of those compared, so no other program "
                "can be compared with it: labels or random numbers differ in each run. Let one process make the "
                "batches, seed what is drawn, and verify again",
                frozenset({"initial", INPUTS, "forward"}),
            )
    return None


def inputs(first: Recording, second: Recording) -> Iterator[Comparison]:
    """Yield the comparison of the first batch of which the first layer of two programs is given other values."""
    for number, moments in enumerate(zip(_moments(first), _moments(second), strict=False), start=1):
        for label, *values in _other_inputs(*moments):
            numeric = all(value.dtype.kind in "fiub" for value in values)
            sides = values if numeric else [np.zeros(1), np.ones(1)]
            result = compare(INPUTS, label, *sides)
            yield replace(result, verdict="differs", note=f"batch {number} of those compared")
            return


def near(first: Moment, second: Moment, tolerance: float) -> bool:
    """Return whether the losses of a batch are as near as those of the same computation."""
    sides = np.array(first.losses), np.array(second.losses)
    return sides[0].shape == sides[1].shape and np.allclose(*sides, tolerance)


def _moments(side: Recording) -> list[Moment]:
    return [*side.passes, *(one for steps in side.steps.values() for one in steps)]


def _other_batch(first: Moment, second: Moment) -> Iterator[str]:
    """Yield the inputs, then the variables, of which two moments read other values."""
    yield from (label for label, *_ in _other_inputs(first, second))
    rows, others = (one.outputs.get("forward", {}) for one in (first, second))
    for name in rows.keys() & others.keys():
        alike = len(rows[name]) == len(others[name]) and all(map(np.array_equal, rows[name], others[name]))
        yield from () if alike else (f"lookup in {name}",)


def _other_inputs(first: Moment, second: Moment) -> Iterator[tuple[Any, ...]]:
    """Yield the label and both values of each input that two moments have, and that differs."""
    for (label, one), (_, two) in zip(first.inputs, second.inputs, strict=False):
        alike = one.shape == two.shape
        same = alike and (np.allclose(one, two, 1e-5) if one.dtype.kind == "f" else np.array_equal(one, two))
        yield from () if same else ((label, one, two),)
