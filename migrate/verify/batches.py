"""Tells a fault from a program that does not repeat itself: which batches two runs read. Pure numpy.

A batch is known by what the first layer on a tape is given, by the rows that are looked up in it, which begin with the
same values in each run, and by its loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from migrate.report.model import Comparison
from migrate.verify.compare import TOLERANCE, missing
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
        for item in compared:
            excused = (
                item.verdict in ("differs", "undetermined")
                and item.stage not in self.spared
                and (item.max_abs > 0 or item.stage == INPUTS)
            )
            yield replace(item, verdict=VERDICT) if excused else item


def unsteady(path: str, first: Recording, again: Recording) -> Unsteady | None:
    """Return what two runs of the program at `path` read or compute differently; None where they are equal."""
    for number, moments in enumerate(zip(_moments(first), _moments(again), strict=False), start=1):
        label = next(_other_batch(*moments), "")
        if label or not near(*moments, TOLERANCE):
            what = "read different batches" if label else "have different losses"
            sentence = (
                f"two runs of {path} {what}, from batch {number} of those compared{label and f' (`{label}`)'}, so no "
                "other program can be compared with it. Usually several processes or threads make the batches, or a "
                "shuffle has no seed: let one process make them (such as `n_workers=1`), seed what is drawn, and "
                "verify again"
            )
            return Unsteady(sentence, frozenset({"initial"} if label else {"initial", INPUTS, "forward"}))
    return None


def inputs(first: Recording, second: Recording) -> Iterator[Comparison]:
    """Yield the first input of the first layer that is another one in the second program."""
    for number, moments in enumerate(zip(_moments(first), _moments(second), strict=False), start=1):
        for label in _other_inputs(*moments):
            note = "the programs read other batches, as by an unseeded shuffle, or compute other ids from them"
            yield missing(INPUTS, label, f"from batch {number} of those compared, {note}")
            return


def near(first: Moment, second: Moment, tolerance: float) -> bool:
    """Return whether the losses of a batch are as near as those of the same computation."""
    sides = np.array(first.losses), np.array(second.losses)
    return sides[0].shape == sides[1].shape and np.allclose(*sides, tolerance)


def _moments(side: Recording) -> list[Moment]:
    return [*side.passes, *(step for steps in side.steps.values() for step in steps)]


def _other_batch(first: Moment, second: Moment) -> Iterator[str]:
    """Yield the inputs, then the variables, of which two moments read other values."""
    yield from _other_inputs(first, second)
    rows, others = (one.outputs.get("forward", {}) for one in (first, second))
    for name in rows.keys() & others.keys():
        alike = len(rows[name]) == len(others[name]) and all(map(np.array_equal, rows[name], others[name]))
        yield from () if alike else (f"lookup in {name}",)


def _other_inputs(first: Moment, second: Moment) -> Iterator[str]:
    """Yield the label of each input that two moments have, and that differs."""
    for (label, value), (_, other) in zip(first.inputs, second.inputs, strict=False):
        close = value.shape == other.shape and value.dtype.kind == "f" and np.allclose(value, other, TOLERANCE)
        yield from () if close or np.array_equal(value, other) else (label,)
