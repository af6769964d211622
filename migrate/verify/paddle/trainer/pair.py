"""Runs the original and the converted trainer, and compares what they record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from migrate.errors import MigrateError
from migrate.verify import progress, workers
from migrate.verify.comparer import Comparer
from migrate.verify.paddle.trainer.common import RATES
from migrate.verify.recording import Recording
from migrate.verify.settings import Settings

_ORIGINAL, _CONVERTED = "migrate.verify.paddle.trainer.original", "migrate.verify.paddle.trainer.converted"


def measure(
    original: str,
    converted: str,
    config: Mapping[str, Any],
    batches: Sequence[Any],
    settings: Settings,
    settles: bool = False,
) -> Comparer:
    """Run the trainers of two folders on the same batches; return what they record.

    Args:
        original: folder of the Paddle model.
        converted: folder of the converted model.
        config: the settings by dotted names.
        batches: NumPy arrays in nested lists and dicts, as the reader's loader gives them.
        settings: how much is compared.
        settles: whether these batches are the last that are tried. Then a gradient that the original does not determine
            is `undetermined` if float64 does not determine it either; else it differs.

    Raises:
        MigrateError: one of the programs fails; the message has its last lines.
    """
    job = {"path": original, "config": dict(config), "batches": batches, "settings": settings, "rates": RATES}
    progress.expect(4)
    single = workers.run(_ORIGINAL, {**job, "dtype": "float32", "passes": True})
    recording = single["recording"]
    job |= {"weights": recording.weights, "loose": single["loose"]}
    moved = workers.run(_CONVERTED, {**job, "path": converted, "data": original})
    why = single["not evaluated"]
    if moved["failure"] and "evaluation" in recording.passes[0].outputs:
        raise MigrateError(
            f"{converted}: infer_forward fails ({moved['failure']}), but not in the original; correct it"
        )
    job |= {"moved": moved["recording"]}
    following, wide = workers.run_together(
        [
            (_ORIGINAL, {**job, "dtype": "float32", "passes": False}),
            (_ORIGINAL, {**job, "dtype": "float64", "passes": True, "settles": settles}),
        ]
    )
    if isinstance(following, MigrateError):
        raise following
    double, notes = workers.with_reference(wide)
    notes += (f"the evaluation is not compared: infer_forward fails with {why}",) if why else ()
    return Comparer(followed(recording, following["recording"]), moved["recording"], double, notes)


def followed(passes: Recording, steps: Recording) -> Recording:
    """Return the original's passes with the steps by which it followed the converted trainer."""
    return replace(passes, steps=steps.steps, noise=steps.noise)
