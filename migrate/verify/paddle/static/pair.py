"""Compares what the original and the converted static model measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from migrate.errors import MigrateError
from migrate.report.model import Comparison
from migrate.verify import compare, progress, workers
from migrate.verify.paddle.static.fed import static_batches
from migrate.verify.paddle.trainer.common import RATES, Array, unpacked
from migrate.verify.paddle.trainer.pair import Result, Steps, TrainerPair
from migrate.verify.settings import Settings

_ORIGINAL, _CONVERTED = "migrate.verify.paddle.static.original", "migrate.verify.paddle.static.converted"


class StaticPair(TrainerPair):
    """The results of both programs: each goes its own way from the weights that both begin with."""

    def _after(self, name: str, steps: Sequence[Result]) -> Iterator[Array]:
        """Yield the values of a weight after each step."""
        last = self.single["weights"][name]
        for step in steps:
            last = unpacked(step["values"][name], last)
            yield self._rows(name, last)

    def _weights(self, kind: str, sides: Steps) -> Iterator[Comparison]:
        for name in self.single["weights"]:
            *_, last = zip(*(self._after(name, steps) for steps in sides), strict=True)
            yield compare.compare(kind, name, *(value.reshape(-1) for value in last))


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
    double, notes = workers.with_reference(single, wide)
    return StaticPair(single, double, moved), (told, *notes)
