"""Compares an eager Paddle program with its converted form: losses, gradients and movements, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from migrate.errors import MigrateError
from migrate.report.model import Verification
from migrate.verify import compare, workers
from migrate.verify.batches import Unsteady, unsteady
from migrate.verify.comparer import Comparer
from migrate.verify.paddle.program.common import STAGE
from migrate.verify.program_files import roots
from migrate.verify.recording import Moment, Recording
from migrate.verify.settings import Settings

_CONVERTED, _ORIGINAL = (f"migrate.verify.paddle.program.{side}" for side in ("converted", "original"))
#: How sure float32 is of a gradient, as a share of the largest gradient of all weights.
_NOISE = 1e-6
#: The seeds by which the original's weights are moved: the next where gradients alone differ from all before.
_NUDGES = ((1, 2), (3, 4), (5, 6))


def verify(original: str, converted: str, settings: Settings) -> Verification:
    """Run both programs, and compare the steps that they make.

    Raises:
        MigrateError: a program fails, makes no step, or makes other steps than the other.
    """
    job: workers.Job = {"seed": settings.seed, "steps": settings.steps, "original": original}
    own, other = (
        [_located(argument, Path(original).resolve(), Path(path).resolve()) for argument in settings.arguments]
        for path in (original, converted)
    )
    moved = _moved({**job, "path": converted, "arguments": other})
    count = len(moved.steps[STAGE])
    if not count:
        raise MigrateError(f"{converted}: it ends without a step of an optimizer; give the file that trains")
    job = {**job, "path": original, "arguments": own, "moved": moved}
    single: Recording = workers.run(_ORIGINAL, job)["recording"]
    steps = len(single.steps[STAGE])
    if steps != count:
        raise MigrateError(
            f"{original}: makes {steps} steps, and the converted program {count}; give both the same arguments and data"
        )
    pair, irregular = _witnessed(job, single)
    notes = [f"both programs were run with their own data for {count} step{'s' * (count > 1)} of their optimizers"]
    notes += [*pair.notes, *([irregular.sentence] if irregular else [])]
    compared = tuple(irregular.judged(pair.comparisons()) if irregular else pair.comparisons())
    return Verification(str(Path(original)), str(Path(converted)), compared, tuple(notes))


def _moved(job: workers.Job) -> Recording:
    """Return what the converted program records, with ids without buckets if it asks for these."""
    answer = workers.run(_CONVERTED, job)
    if "recording" not in answer:
        answer = workers.run(_CONVERTED, {**job, "unbucket": True})
    recording: Recording = answer["recording"]
    return recording


def _witnessed(job: workers.Job, single: Recording) -> tuple[Comparer, Unsteady | None]:
    """Compare both sides; where they differ, with what the original itself computes in float64, and when nudged.

    Return that, or what two runs of the original compute differently.
    """
    moved: Recording = job["moved"]
    runs, wide = [single], None
    pair = Comparer(with_noise(runs, moved), moved)
    for seeds in _NUDGES:
        stages = {one.stage for one in pair.comparisons() if one.verdict in ("differs", "undetermined")}
        if not stages or (wide is not None and stages != {"gradient"}):
            break
        if wide is None:
            again: Recording = workers.run(_ORIGINAL, {**job, "how": " once more"})["recording"]
            if irregular := unsteady(str(job["path"]), single, again):
                return pair, irregular
        nudged = (workers.run(_ORIGINAL, {**job, "nudged": seed})["recording"] for seed in seeds)
        runs += [run for run in nudged if _way(run) == _way(single)]
        wide = _in_float64(job, single) if wide is None else wide
        pair = Comparer(with_noise(runs, moved), moved, wide[0], (*wide[1], *_notes(runs, moved)))
    return pair, None


def _notes(runs: Sequence[Recording], moved: Recording) -> Sequence[str]:
    """Return a note on the steps whose gradients are compared with those of nudged runs."""
    steps = [str(number + 1) for number, run in enumerate(_nearest(runs, moved)) if run]
    where = f"step{'s' * (len(steps) > 1)} {', '.join(steps)}"
    return (f"gradients of {where} are those of the original with its weights moved by a last place",) if steps else ()


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
    path, (root, other) = path.resolve(), roots(original, program)
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


def with_noise(runs: Sequence[Recording], moved: Recording) -> Recording:
    """Return the original's recording, with how sure its gradients are: by `runs`, all but the first of them nudged."""
    steps = []
    for chosen, *own in zip(_nearest(runs, moved), *(run.steps[STAGE] for run in runs), strict=True):
        nearest = own[chosen].gradients
        known = [numbers for numbers in map(_numbers, nearest.values()) if numbers.size]
        noise = dict.fromkeys(nearest, _NOISE * max((float(np.abs(one).max()) for one in known), default=0.0))
        for step in own:
            for name in noise:
                noise[name] = max(noise[name], _difference(nearest, step.gradients, name))
        steps.append(replace(own[0], gradients=nearest, noise=noise))
    return replace(runs[0], steps={STAGE: steps})


def _nearest(runs: Sequence[Recording], moved: Recording) -> list[int]:
    """Return for each step the number of the run that has most of the converted program's gradients.

    A relu whose input is 0 but for rounding opens in some of them only.
    """
    moments = zip(*(run.steps[STAGE] for run in runs), moved.steps[STAGE], strict=True)
    apart = [[_apart(step, theirs, moved.padding) for step in own] for *own, theirs in moments]
    return [counts.index(min(counts)) for counts in apart]


def _apart(step: Moment, other: Moment, padding: Mapping[str, int]) -> int:
    """Return how many gradients of a step are farther from another's than equal ones may be."""
    return sum(
        _difference(step.gradients, other.gradients, name, padding.get(name))
        > compare.TOLERANCE * float(np.abs(_numbers(gradient)).max(initial=0.0))
        for name, gradient in step.gradients.items()
    )


def _difference(first: Mapping[str, Any], second: Mapping[str, Any], name: str, without: int | None = None) -> float:
    """Return the largest difference of a gradient, but for the row `without`."""
    return float(np.abs(np.subtract(*compare.by_id([first.get(name), second.get(name)], without))).max(initial=0.0))


def _numbers(gradient: Any) -> compare.Array:
    return np.zeros(0) if gradient is None else compare.numbers(gradient)
