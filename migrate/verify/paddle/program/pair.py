"""Compares an eager Paddle program with its converted form: losses, gradients and movements, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from migrate.errors import MigrateError
from migrate.report.model import Verification
from migrate.verify import compare, workers
from migrate.verify.comparer import Comparer
from migrate.verify.paddle.program.common import STAGE
from migrate.verify.recording import Recording
from migrate.verify.settings import Settings

_CONVERTED, _ORIGINAL = (f"migrate.verify.paddle.program.{side}" for side in ("converted", "original"))
#: How sure float32 is of a gradient, as a share of the largest gradient of all weights.
_NOISE = 1e-6
#: The seeds by which the original's weights are moved.
_NUDGES = (1, 2)


def verify(original: str, converted: str, settings: Settings) -> Verification:
    """Run both programs, and compare the steps that they make.

    Raises:
        MigrateError: a program fails, makes no step, or makes other steps than the other.
    """
    job: dict[str, Any] = {"seed": settings.seed, "steps": settings.steps}
    own, other = (
        [_located(argument, Path(original).resolve(), Path(path).resolve()) for argument in settings.arguments]
        for path in (original, converted)
    )
    moved: Recording = workers.run(_CONVERTED, {**job, "path": converted, "arguments": other})["recording"]
    count = len(moved.steps[STAGE])
    if not count:
        raise MigrateError(f"{converted}: it ends without a step of an optimizer; give the file that trains")
    job |= {"path": original, "arguments": own, "moved": moved}
    single: Recording = workers.run(_ORIGINAL, job)["recording"]
    steps = len(single.steps[STAGE])
    if steps != count:
        raise MigrateError(
            f"{original}: makes {steps} steps, and the converted program {count}; give both the same arguments and data"
        )
    pair = Comparer(with_noise(single, []), moved)
    if any(comparison.verdict == "differs" for comparison in pair.comparisons()):
        nudged = [workers.run(_ORIGINAL, {**job, "nudged": seed})["recording"] for seed in _NUDGES]
        pair = Comparer(with_noise(single, nudged), moved, *_in_float64(job, single))
    notes = (f"both programs were run with their own data for {count} step{'s' * (count > 1)} of their optimizers",)
    return Verification(str(Path(original)), str(Path(converted)), tuple(pair.comparisons()), (*notes, *pair.notes))


def _located(argument: str, original: Path, program: Path) -> str:
    """Return an argument, or its part behind `=`, as an absolute path if it is that of a file.

    Programs are run in their folders, and a file that is not there is looked for where `migrate` was called. What lies
    beside the original is taken from beside the program, if it is there: a configuration says which modules it is of.
    """
    begin, sign, text = argument.rpartition("=")
    path = Path(text)
    beside = not path.is_absolute() and (original.parent / path).exists()
    if beside or not (path.is_file() or ("/" in text and path.exists())):
        return argument
    path, root, other = path.resolve(), original, program
    while root != other and root.name == other.name:
        root, other = root.parent, other.parent
    if path.is_relative_to(root) and (other / path.relative_to(root)).exists():
        path = other / path.relative_to(root)
    return f"{begin}{sign}{path}"


def _in_float64(job: workers.Job, single: Recording) -> tuple[Recording | None, tuple[str, ...]]:
    """Return what the original records in float64; None, and why, where it fails, or goes another way there."""
    wide, notes = workers.with_reference(*workers.run_together([(_ORIGINAL, {**job, "dtype": "float64"})]))
    if wide is None or _way(wide) == _way(single):
        return wide, notes
    return None, ("no float64 reference, because the original makes other steps in float64",)


def _way(recording: Recording) -> list[tuple[int, set[str]]]:
    """Return how many losses each step has, and of which weights it has gradients."""
    return [(len(step.losses[0]), set(step.gradients)) for step in recording.steps[STAGE]]


def with_noise(single: Recording, nudged: Sequence[Recording]) -> Recording:
    """Return a recording that says how sure its gradients are: by those of runs whose weights are moved, too."""
    steps = []
    for number, step in enumerate(single.steps[STAGE]):
        known = {name: one for name, one in step.gradients.items() if one is not None}
        largest = max((float(np.abs(compare.numbers(one)).max(initial=0.0)) for one in known.values()), default=0.0)
        noise = dict.fromkeys(step.gradients, _NOISE * largest)
        for side in nudged:
            for name in noise:
                both = [one.gradients.get(name) for one in (step, side.steps[STAGE][number])]
                apart = np.abs(np.subtract(*compare.by_id(both)))
                noise[name] = max(noise[name], float(apart.max(initial=0.0)))
        steps.append(replace(step, noise=noise))
    return replace(single, steps={STAGE: steps})
