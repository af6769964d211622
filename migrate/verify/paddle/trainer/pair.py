"""Compares what the original and the converted trainer measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from migrate.errors import MigrateError
from migrate.report.model import Comparison
from migrate.verify import compare, workers
from migrate.verify.paddle.trainer.common import RATES, Array
from migrate.verify.settings import Settings

_ORIGINAL, _CONVERTED = "migrate.verify.paddle.trainer.original", "migrate.verify.paddle.trainer.converted"
Result = Mapping[str, Any]


def measure(
    original: str, converted: str, config: Mapping[str, Any], batches: Sequence[Any], settings: Settings
) -> TrainerPair:
    """Run the trainers of two folders on the same batches.

    Args:
        original: folder of the Paddle model.
        converted: folder of the converted model.
        config: the settings by dotted names.
        batches: NumPy arrays in nested lists, as the reader's loader gives them.
        settings: how much is compared.

    Raises:
        MigrateError: one of the programs fails; the message has its last lines.
    """
    job = {"path": original, "config": dict(config), "batches": batches, "settings": settings, "rates": RATES}
    single = workers.run(_ORIGINAL, {**job, "dtype": "float32"})
    known = {"weights": single["weights"], "loose": single["loose"]}
    wide, moved = workers.run_together(
        [(_ORIGINAL, {**job, **known, "dtype": "float64"}), (_CONVERTED, {**job, **known, "path": converted})]
    )
    if isinstance(moved, MigrateError):
        raise moved
    double = single if isinstance(wide, MigrateError) else wide
    notes = [f"no float64 reference: {str(wide).splitlines()[0]}"] if isinstance(wide, MigrateError) else []
    if (failed := single["batches"][0].get("not evaluated")) is not None:
        notes.append(f"evaluation is not compared: the original's `infer_forward` fails with {failed.splitlines()[0]}")
    return TrainerPair(single, double, moved, tuple(notes))


class TrainerPair:
    """The results of both programs, and their comparisons."""

    def __init__(self, single: Result, double: Result, moved: Result, notes: tuple[str, ...] = ()) -> None:
        """Take the results of the workers: the original in float32 and float64, and the converted trainer."""
        self.single, self.double, self.moved, self.notes = single, double, moved, notes

    def _rows(self, name: str, value: Array) -> Array:
        """Return the values without the padding row, which Paddle trains under `sparse=True`, but never reads."""
        padding = self.moved["padding"].get(name)
        return value if padding is None else np.delete(value, padding, axis=0)

    def comparisons(self) -> Iterator[Comparison]:
        """Yield all comparisons, stage by stage."""
        yield from self._lists("forward", "outputs", "output")
        yield self._loss()
        yield from self._gradients()
        yield from self._running()
        if "evaluated" in self.single["batches"][0] and "evaluated" in self.moved["batches"][0]:
            yield from self._lists("forward", "evaluated", "evaluated output")
        for kind in (*RATES, "own"):
            if kind in self.single and kind in self.moved:
                yield from self._steps(kind)

    def _lists(self, stage: str, what: str, name: str) -> Iterator[Comparison]:
        sides = [[batch[what] for batch in side["batches"]] for side in (self.single, self.moved, self.double)]
        counts = {len(batch) for side in sides for batch in side}
        if len(counts) != 1:
            raise MigrateError(f"the original and the converted model return different numbers of tensors ({counts})")
        for index in range(counts.pop()):
            first, second, wide = (_flat([batch[index] for batch in side]) for side in sides)
            yield _compared(stage, f"{name} {index}", first, second, wide)

    def _loss(self) -> Comparison:
        first, second, wide = (
            np.concatenate([batch["loss"] for batch in side["batches"]])
            for side in (self.single, self.moved, self.double)
        )
        return _compared("loss", "loss", first, second, wide)

    def _gradients(self) -> Iterator[Comparison]:
        for name, weights in self.single["weights"].items():
            if name not in self.single["batches"][0]["gradients"]:
                continue
            values = [
                _flat([self._rows(name, _or_zeros(batch["gradients"].get(name), weights)) for batch in side["batches"]])
                for side in (self.single, self.moved, self.double)
            ]
            if any(value.any() for value in values):
                yield _compared("gradient", name, values[0], values[1], values[2], kind="gradient")

    def _running(self) -> Iterator[Comparison]:
        for name in self.single["batches"][0]["running"]:
            first, second, wide = (
                _flat([batch["running"][name] for batch in side["batches"]])
                for side in (self.single, self.moved, self.double)
            )
            yield _compared("running values", name, first, second, wide)

    def _steps(self, kind: str) -> Iterator[Comparison]:
        sides = (self.single[kind], self.moved[kind], self.double.get(kind, self.single[kind]))
        first, second, wide = (np.concatenate([step["loss"] for step in side]) for side in sides)
        yield _compared(kind, "loss", first, second, wide)
        for name in self.single["weights"]:
            first, second, wide = (_flat([self._rows(name, side[-1]["values"][name])]) for side in sides)
            yield _compared(kind, name, first, second, wide)


def _compared(stage: str, name: str, first: Array, second: Array, wide: Array, kind: str = "tensor") -> Comparison:
    result = compare.compare(stage, name, first, second, wide, kind=kind)
    return compare.within_rounding(result, first, second, wide)


def _flat(values: Sequence[Array]) -> Array:
    return np.concatenate([np.asarray(value).reshape(-1) for value in values]) if values else np.zeros(0)


def _or_zeros(value: Array | None, like: Array) -> Array:
    return np.zeros(like.shape, like.dtype) if value is None else value
