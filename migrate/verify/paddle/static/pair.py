"""Runs the original and the converted static model, and compares what they record."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from migrate.errors import MigrateError
from migrate.verify import progress, workers
from migrate.verify.comparer import Comparer
from migrate.verify.paddle.static.fed import static_batches
from migrate.verify.paddle.trainer.common import RATES
from migrate.verify.settings import Settings

_ORIGINAL, _CONVERTED = "migrate.verify.paddle.static.original", "migrate.verify.paddle.static.converted"


def static_pair(
    original: Path, converted: Path, files: Mapping[str, str], config: Mapping[str, Any], settings: Settings
) -> Comparer:
    """Run the static models of two folders on the same batches; return what they record.

    Raises:
        MigrateError: one of the programs fails; the message has its last lines.
    """
    batches, told = static_batches(original, files, config, settings)
    job = {"path": str(original), "config": dict(config), "batches": batches, "settings": settings, "rates": RATES}
    progress.expect(3)
    single = workers.run(_ORIGINAL, {**job, "dtype": "float32"})["recording"]
    job |= {"weights": single.weights}
    wide, moved = workers.run_together(
        [(_ORIGINAL, {**job, "dtype": "float64"}), (_CONVERTED, {**job, "path": str(converted)})]
    )
    if isinstance(moved, MigrateError):
        raise moved
    double, notes = workers.with_reference(wide)
    return Comparer(single, moved["recording"], double, (told, *notes))
