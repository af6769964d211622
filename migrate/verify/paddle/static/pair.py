"""Compares what the original and the converted static model measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from migrate.errors import MigrateError
from migrate.report.model import Comparison
from migrate.verify import compare, kept, progress, rounding, workers
from migrate.verify.paddle.static.fed import static_batches
from migrate.verify.paddle.trainer.common import RATES, Array
from migrate.verify.paddle.trainer.pair import TrainerPair
from migrate.verify.settings import Settings

_ORIGINAL, _CONVERTED = "migrate.verify.paddle.static.original", "migrate.verify.paddle.static.converted"


class StaticPair(TrainerPair):
    """The results of both programs: each goes its own way from the weights that both begin with."""

    def _gradients(self) -> Iterator[Comparison]:
        for name, weights in self.single["weights"].items():
            sides = [
                [batch["gradients"].get(name) for batch in side["batches"]]
                for side in (self.single, self.moved, self.double)
            ]
            values = [
                _flat([self._rows(name, np.zeros(weights.shape) if one is None else one) for one in side])
                for side in sides
            ]
            if sides[0][0] is not None and any(value.any() for value in values):
                found = compare.compare("gradient", name, *values, kind="gradient")
                yield rounding.by_noise(found, values[0], 0.0, self.largest)

    def _steps(self, kind: str) -> Iterator[Comparison]:
        sides = (self.single[kind], self.moved[kind], self.double.get(kind, self.single[kind]))
        losses = [np.concatenate([step["loss"] for step in side]) for side in sides]
        yield kept.by_step(compare.compare(kind, "loss", *losses), *losses)
        for name in self.single["weights"]:
            values = [_flat([self._rows(name, side[-1]["values"][name])]) for side in sides]
            yield compare.compare(kind, name, *values)


def static_pair(
    original: Path, converted: Path, files: Mapping[str, str], config: Mapping[str, Any], settings: Settings
) -> tuple[StaticPair, tuple[str, ...]]:
    """Run the static models of two folders on the same batches; return their results, and notes.

    Raises:
        MigrateError: one of the programs fails; the message has its last lines.
    """
    batches, told = static_batches(original, files, config, settings)
    job = {"path": str(original), "config": dict(config), "batches": batches, "settings": settings, "rates": RATES}
    progress.expect(3)
    single = workers.run(_ORIGINAL, {**job, "dtype": "float32"})
    known = {"weights": single["weights"]}
    wide, moved = workers.run_together(
        [(_ORIGINAL, {**job, **known, "dtype": "float64"}), (_CONVERTED, {**job, **known, "path": str(converted)})]
    )
    if isinstance(moved, MigrateError):
        raise moved
    double = single if isinstance(wide, MigrateError) else wide
    notes = (f"no float64 reference: {str(wide).splitlines()[0]}",) if isinstance(wide, MigrateError) else ()
    return StaticPair(single, double, moved), (told, *notes)


def _flat(values: list[Array]) -> Array:
    return np.concatenate([np.asarray(value).reshape(-1) for value in values]) if values else np.zeros(0)
