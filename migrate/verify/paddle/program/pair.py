"""Compares an eager Paddle program with its converted form: losses, gradients and movements, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migrate.errors import MigrateError
from migrate.report.model import Comparison, Verification
from migrate.verify import compare, rounding, training_record, workers
from migrate.verify.compare import worst
from migrate.verify.paddle.trainer.common import dense, unpacked
from migrate.verify.settings import Settings

Array = NDArray[Any]
_CONVERTED, _ORIGINAL = (f"migrate.verify.paddle.program.{side}" for side in ("converted", "original"))
#: How sure float32 is of a gradient, as a share of the largest gradient of all weights.
_NOISE = 1e-6
#: The seeds by which the original's weights are moved.
_NUDGES = (1, 2)
#: Means and deviations of drawn weights are compared to this share of the deviation, by the square root of the number.
_SIGMAS = 6.0
#: By how much a single drawn value may exceed others: some are near 0.
_WIDE = 100.0


def verify(original: str, converted: str, settings: Settings) -> Verification:
    """Run both programs, and compare the steps that they make.

    Raises:
        MigrateError: a program fails, makes no step, or makes other steps than the other.
    """
    job = {"seed": settings.seed, "arguments": list(settings.arguments), "steps": settings.steps}
    moved = workers.run(_CONVERTED, {**job, "path": converted})
    if not moved["steps"]:
        raise MigrateError(f"{converted}: it ends without a step of an optimizer; give the file that trains")
    single = workers.run(_ORIGINAL, {**job, "path": original, "moved": moved})
    if len(single["steps"]) != len(moved["steps"]):
        raise MigrateError(
            f"{original}: makes {len(single['steps'])} steps, and the converted program {len(moved['steps'])}; "
            "give both the same arguments and data"
        )
    pair = _Pair(single, moved)
    if any(comparison.verdict == "differs" for comparison in pair.comparisons()):
        again = {**job, "path": original, "moved": moved}
        pair.wide = _in_float64(again, single)
        pair.nudged = [workers.run(_ORIGINAL, {**again, "nudged": seed}) for seed in _NUDGES]
    count = len(moved["steps"])
    notes = (f"both programs were run with their own data for {count} step{'s' * (count > 1)} of their optimizers",)
    return Verification(str(Path(original)), str(Path(converted)), tuple(pair.comparisons()), notes)


def _in_float64(job: Mapping[str, Any], single: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what the original does in float64; None where it cannot, or goes another way there."""
    try:
        wide: Mapping[str, Any] = workers.run(_ORIGINAL, {**job, "wide": True})
    except MigrateError:
        return None
    steps = zip(wide["steps"], single["steps"], strict=False)
    same = len(wide["steps"]) == len(single["steps"]) and len(wide["losses"]) == len(single["losses"])
    return (
        wide
        if same and all(first["gradients"].keys() == second["gradients"].keys() for first, second in steps)
        else None
    )


class _Pair:
    """What both sides recorded."""

    def __init__(self, single: Mapping[str, Any], moved: Mapping[str, Any]) -> None:
        self.single, self.moved = single, moved
        self.nudged: list[Mapping[str, Any]] = []  #: the original with weights that are moved by a last place
        self.wide: Mapping[str, Any] | None = None  #: the original in float64

    def comparisons(self) -> Iterator[Comparison]:
        """Yield the comparisons, stage by stage."""
        yield from self._initial()
        losses = [np.array(side["losses"]) for side in (self.single, self.moved)]
        reference = None if self.wide is None else np.array(self.wide["losses"])
        yield training_record.by_step(compare.compare("loss", "loss", losses[0], losses[1], reference), *losses)
        for name in self._trained():
            yield self._gradients(name)
        for name in self._stepped():
            yield self._movements(name)

    def _initial(self) -> Iterator[Comparison]:
        for name, first in self.single["initial"].items():
            second = self.moved["initial"].get(name)
            if second is None:
                continue
            same = compare.compare("initial", name, first, second)
            draws = [side["initial"][name] for side in self.nudged if name in side["initial"]]
            yield same if same.verdict == "equal" else _alike(same, first, second, draws)

    def _trained(self) -> list[str]:
        sides = (step["gradients"] for side in (self.single, self.moved) for step in side["steps"])
        return list(dict.fromkeys(name for gradients in sides for name in gradients))

    def _stepped(self) -> list[str]:
        return list(dict.fromkeys(name for step in self.single["steps"] for name in step["values"]))

    def _gradients(self, name: str) -> Comparison:
        comparisons, where = [], []
        shape = np.shape({**self.single["initial"], **self.moved["initial"]}[name])  # a copy begins in no layer
        references = self._references(name, shape)
        usual = rounding.usual_errors([pair for pair in references if pair is not None])
        for number, steps in enumerate(self._steps(), 1):
            sides = [step["gradients"].get(name) for step in steps]
            if sides[0] is None and sides[1] is None:
                continue
            first, second = (self._dense(name, side, shape) for side in sides)
            largest = max(_largest(step["gradients"]) for step in steps)
            again = (side["steps"][number - 1]["gradients"].get(name) for side in self.nudged)
            apart = (float(np.abs(self._dense(name, one, shape) - first).max(initial=0.0)) for one in again)
            pair = references[number - 1]
            reference, error = (None, 0.0) if pair is None else (pair[1], usual.pop(0))
            comparison = compare.compare("gradient", name, first, second, reference, usual=error)
            comparisons.append(rounding.by_noise(comparison, first, max((_NOISE * largest, *apart)), largest))
            where.append(f"step {number}")
        return worst(comparisons, where)

    def _references(self, name: str, shape: tuple[int, ...]) -> list[tuple[Array, Array] | None]:
        """Return the gradient of a weight at each step, in float32 and in float64; None where that is not known."""
        if self.wide is None:
            return [None] * len(self.single["steps"])
        pairs = zip(self.single["steps"], self.wide["steps"], strict=True)
        sides = ([step["gradients"].get(name) for step in steps] for steps in pairs)
        return [
            None if short is None or wide is None else (self._dense(name, short, shape), self._dense(name, wide, shape))
            for short, wide in sides
        ]

    def _dense(self, name: str, gradient: Any, shape: tuple[int, ...]) -> Array:
        """Return a gradient as an array; the padding row, which no output shows, is zero."""
        rows = np.zeros(shape) if gradient is None else dense(_pair(gradient), shape)
        if name in self.moved["padding"]:
            rows = np.array(rows)
            rows[self.moved["padding"][name]] = 0.0
        return rows

    def _movements(self, name: str) -> Comparison:
        comparisons, where = [], []
        before = np.asarray(self.moved["initial"][name])
        for number, steps in enumerate(self._steps(), 1):
            values = [step["values"].get(name) for step in steps]
            if values[0] is None or values[1] is None:
                continue
            first, second = (unpacked(value, before).astype(np.float64) for value in values)
            unit = 4 * np.spacing(np.abs(before).astype(np.float32)).astype(np.float64)
            for side in (first, second) if name in self.moved["padding"] else ():
                side[self.moved["padding"][name]] = before[self.moved["padding"][name]]
            apart = second - first
            second_moved = first - before + np.sign(apart) * np.maximum(np.abs(apart) - unit, 0.0)
            comparisons.append(compare.compare("step", name, first - before, second_moved))
            where.append(f"step {number}")
            before = unpacked(values[1], before)
        return (
            worst(comparisons, where)
            if comparisons
            else compare.missing("step", name, "no step of the converted program has it")
        )

    def _steps(self) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
        return zip(self.single["steps"], self.moved["steps"], strict=True)


def _pair(gradient: Any) -> Any:
    return gradient if isinstance(gradient, tuple) else np.asarray(gradient, np.float64)


def _largest(gradients: Mapping[str, Any]) -> float:
    values: Sequence[Any] = [one[1] if isinstance(one, tuple) else one for one in gradients.values() if one is not None]
    return max((float(np.abs(value).max(initial=0.0)) for value in values), default=0.0)


def _alike(comparison: Comparison, first: Array, second: Array, draws: Sequence[Array]) -> Comparison:
    """Return the comparison of drawn values, as equal where mean and deviation are those of one distribution.

    Args:
        comparison: what differs.
        first: the values of the original.
        second: those of the converted program.
        draws: those of the original from other seeds, which tell a single value that is drawn from a constant.
    """
    a, b = (np.asarray(side, np.float64).reshape(-1) for side in (first, second))
    if a.size == b.size == 1:
        values = np.array([a[0], *(np.asarray(draw, np.float64).reshape(-1)[0] for draw in draws)])
        drawn = len(set(values)) == len(draws) + 1 > 1 and 0.0 < abs(b[0]) <= _WIDE * np.abs(values).max()
        note = f"one value, drawn: {a[0]:.3g} and {b[0]:.3g}"
        return replace(comparison, verdict="equal", tolerance=comparison.needed, note=note) if drawn else comparison
    spread = float(np.sqrt((a.var() + b.var()) / 2))
    if a.shape != b.shape or not spread:
        return comparison
    error = _SIGMAS * spread / np.sqrt(a.size)
    fits = abs(a.mean() - b.mean()) <= 2 * error and abs(a.std() - b.std()) <= 2 * error
    note = f"drawn: mean {a.mean():.3g} and {b.mean():.3g}, deviation {a.std():.3g} and {b.std():.3g}"
    return replace(comparison, verdict="equal" if fits else "differs", tolerance=comparison.needed, note=note)
