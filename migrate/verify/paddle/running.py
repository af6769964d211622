"""Runs a Paddle original and what it became, each in a process of its own, whatever the shape of the program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from migrate.errors import MigrateError
from migrate.verify import workers
from migrate.verify.paddle.trainer.common import RATES
from migrate.verify.recording import Recording


@dataclass(frozen=True)
class Runs:
    """What both programs recorded, and what their workers tell besides."""

    original: Recording  #: with the steps by which it followed the converted program, where it does
    converted: Recording
    reference: Recording | None  #: the original in float64
    notes: tuple[str, ...]
    original_answer: Mapping[str, Any]  #: by the original
    answer: Mapping[str, Any]  #: by the converted program


def run_both(package: str, job: Mapping[str, Any], converted: str, settles: bool = False, follows: bool = True) -> Runs:
    """Run the workers `original`, in two precisions, and `converted` of a package, from the same weights.

    The job has what both need: the `path` of the original, `batches`, and `settings`. `settles` is that of
    `trainer.folder.measure`. Where it `follows`, the original takes each step once more from where the converted
    program took it. Raises MigrateError if one of the programs fails; the message has its last lines.
    """
    original = f"{package}.original"
    job = {**job, "rates": RATES, "passes": True}
    workers.expect(3 + follows)
    original_answer = workers.run(original, {**job, "dtype": "float32"})
    own: Recording = original_answer["recording"]
    job |= {"weights": own.weights, "loose": original_answer.get("loose", ()), "distributions": own.distributions}
    answer = workers.run(f"{package}.converted", {**job, "path": converted, "data": job["path"]})
    if answer.get("failure") and "evaluation" in own.passes[0].outputs:
        raise MigrateError(
            f"{converted}: infer_forward fails ({answer['failure']}), but not in the original; correct it"
        )
    job |= {"moved": answer["recording"]}
    later = [(original, {**job, "dtype": "float64", "settles": settles})]
    later += [(original, {**job, "dtype": "float32", "passes": False})] if follows else []
    wide, *following = workers.run_together(later)
    for steps in following:
        if isinstance(steps, MigrateError):
            raise steps
        own = followed(own, steps["recording"])
    double, notes = workers.with_reference(wide)
    if why := original_answer.get("not evaluated"):
        notes += (f"the evaluation is not compared: infer_forward fails with {why}",)
    return Runs(own, answer["recording"], double, notes, original_answer, answer)


def followed(passes: Recording, steps: Recording) -> Recording:
    """Return the original's passes with the steps by which it followed the converted program."""
    return replace(passes, steps=steps.steps, noise=steps.noise)
