"""Runs the original and the converted trainer, and compares what they record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from migrate.verify.paddle.running import run_both
from migrate.verify.paddle.without_buckets import FirstStep
from migrate.verify.settings import Settings


def measure(
    original: str,
    converted: str,
    config: Mapping[str, Any],
    batches: Sequence[Any],
    settings: Settings,
    settles: bool = False,
    static: bool = False,
) -> FirstStep:
    """Run the trainers of two folders on the same batches; return what they record.

    Args:
        original: folder of the Paddle model.
        converted: folder of the converted model.
        config: the settings by dotted names.
        batches: NumPy arrays in nested lists and dicts, as the reader's loader gives them.
        settings: how much is compared.
        settles: whether these batches are the last that are tried. Then a gradient that the original does not determine
            is `undetermined` if float64 does not determine it either; else it differs.
        static: whether it is a static model, whose steps are made by its own graph.

    Raises:
        MigrateError: one of the programs fails; the message has its last lines.
    """
    job = {"path": original, "config": dict(config), "batches": batches, "settings": settings}
    package = f"migrate.verify.paddle.{'static' if static else 'trainer'}"
    runs = run_both(package, job, converted, settles, follows=not static)
    return FirstStep(runs.original, runs.converted, runs.reference, runs.notes)
