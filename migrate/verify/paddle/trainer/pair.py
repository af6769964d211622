"""Compares what the original and the converted trainer measured."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from migrate.errors import MigrateError
from migrate.report.model import Comparison, Memory
from migrate.verify import compare, progress, rounding, training_record, workers
from migrate.verify.compare import worst
from migrate.verify.paddle.trainer.common import RATES, Array, dense, unpacked
from migrate.verify.settings import Settings

_ORIGINAL, _CONVERTED = "migrate.verify.paddle.trainer.original", "migrate.verify.paddle.trainer.converted"
Result = Mapping[str, Any]
#: The steps of the original, of the converted program, and of the original in float64.
Steps = tuple[Sequence[Result], Sequence[Result], Sequence[Result]]


def measure(
    original: str,
    converted: str,
    config: Mapping[str, Any],
    batches: Sequence[Any],
    settings: Settings,
    settles: bool = False,
) -> TrainerPair:
    """Run the trainers of two folders on the same batches.

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
    job |= {"weights": single["weights"], "loose": single["loose"]}
    moved = workers.run(_CONVERTED, {**job, "path": converted, "data": original})
    if moved["failure"] and "evaluated" in single["batches"][0]:
        raise MigrateError(
            f"{converted}: infer_forward fails ({moved['failure']}), but not in the original; correct it"
        )
    steps = steps_of(moved)
    following, wide = workers.run_together(
        [
            (_ORIGINAL, {**job, "dtype": "float32", "passes": False, "moved": steps}),
            (_ORIGINAL, {**job, "dtype": "float64", "passes": True, "moved": steps, "settles": settles}),
        ]
    )
    if isinstance(following, MigrateError):
        raise following
    single |= following
    double, notes = workers.with_reference(single, wide)
    why = single["batches"][0].get("not evaluated")
    notes += (f"the evaluation is not compared: infer_forward fails with {why}",) if why else ()
    return TrainerPair(single, double, moved, notes)


def steps_of(moved: Result) -> dict[str, Any]:
    """Return what the original needs of the converted trainer's results to follow it."""
    gradients = [batch["gradients"] for batch in moved["batches"]]
    return {
        "gradients": gradients,
        "padding": moved["padding"],
        **{kind: moved[kind] for kind in (*RATES, "own") if kind in moved},
    }


class TrainerPair:
    """The results of both programs, and their comparisons."""

    kind = "tensor"  #: of outputs and losses: `output` where those of all batches must not be the same

    def __init__(self, single: Result, double: Result, moved: Result, notes: tuple[str, ...] = ()) -> None:
        """Take the results of the workers: the original in float32 and float64, and the converted trainer."""
        self.single, self.double, self.moved, self.notes = single, double, moved, notes
        self._sides = single, moved, double
        self._unsure: set[str] = set()

    def _rows(self, name: str, value: Array) -> Array:
        """Return the values without the padding row, which Paddle trains under `sparse=True`, but never reads."""
        padding = self.moved["padding"].get(name)
        return value if padding is None else np.delete(value, padding, axis=0)

    def undetermined(self) -> set[str]:
        """Return the weights whose gradients or running values these batches do not determine, in the original either.

        An example is a maximum over a sequence that ends in padding: a recurrent layer comes to rest there, and how
        many of its values are the largest is a matter of their last place. Paddle gives each the whole gradient.
        """
        self.comparisons()
        return self._unsure

    def trains(self) -> bool:
        """Return whether a gradient is more than 0 and rounding on these batches; else a step shows nothing."""
        self.comparisons()
        names = (name for name in self.single["weights"] if name not in self._unsure)
        gradients = map(self._on_batches, names)
        return any(
            not rounding.is_cancelled(np.concatenate([first, second]), wide) for first, second, wide in gradients
        )

    def comparisons(self) -> Sequence[Comparison]:
        """Return all comparisons, stage by stage."""
        return self._all

    @functools.cached_property
    def _all(self) -> Sequence[Comparison]:
        return tuple(self._stages())

    def _stages(self) -> Iterator[Comparison]:
        yield from self._lists("forward", "outputs", "output")
        yield self._loss()
        yield from self._gradients()
        yield from self._by_name("running", "running values")
        yield from self._by_name("metrics", "metrics")
        if "evaluated" in self.single["batches"][0] and "evaluated" in self.moved["batches"][0]:
            yield from self._lists("evaluation", "evaluated", "evaluated output")
        for kind in (*RATES, "own"):
            if kind in self.single and kind in self.moved:
                yield from self._steps(kind)

    def memory(self) -> tuple[Memory, ...]:
        """Return what the tables take beside the original's matrices, each with the slots of the last optimizer."""
        tables = self.moved["held"].items()
        return tuple(
            one
            for name, held in tables
            for one in training_record.memory(name, held, [self.single["weights"][name]], None)
        )

    def _lists(self, stage: str, what: str, name: str) -> Iterator[Comparison]:
        wide = self.double if what in self.double["batches"][0] else self.single
        sides = [[batch[what] for batch in side["batches"]] for side in (self.single, self.moved, wide)]
        counts = {len(batch) for side in sides for batch in side}
        if len(counts) != 1:
            raise MigrateError(
                f"the original returns {len(sides[0][0])} outputs and the converted model {len(sides[1][0])}; convert "
                "it again"
            )
        for index in range(counts.pop()):
            joined = _flat if self.kind == "tensor" else np.concatenate
            values = [joined([batch[index] for batch in side]) for side in sides]
            yield compare.compare(stage, f"{name} {index}", *values, kind=self.kind)

    def _loss(self) -> Comparison:
        losses = [np.concatenate([batch["loss"] for batch in side["batches"]]) for side in self._sides]
        return compare.compare("loss", "loss", *losses, kind=self.kind if len(losses[0]) > 1 else "tensor")

    def _gradients(self) -> Iterator[Comparison]:
        for name in self.single["weights"]:
            if name not in self.single["batches"][0]["gradients"]:
                continue
            values = self._on_batches(name)
            if self._is_compared(name, values):
                comparison = compare.compare("gradient", name, *values, kind="gradient")
                yield self._sure(comparison, values[0], self.single.get("noise", {}))

    def _is_compared(self, name: str, values: Sequence[Array]) -> bool:
        """Return whether the gradient of a weight says something on these batches; else `trains` may ask others."""
        return any(value.any() for value in values)

    def _on_batches(self, name: str) -> list[Array]:
        """Return the gradients of a weight on all batches: in the original, the converted model, and float64."""
        weights = self.single["weights"][name]
        return [
            _flat([self._rows(name, or_zeros(batch["gradients"].get(name), weights)) for batch in side["batches"]])
            for side in self._sides
        ]

    def _by_name(self, what: str, stage: str) -> Iterator[Comparison]:
        for name in self.single["batches"][0].get(what, ()):
            first, second, wide = (_flat([batch[what][name] for batch in side["batches"]]) for side in self._sides)
            comparison = compare.compare(stage, name, first, second, wide)
            yield self._sure(comparison, first, self.single.get("noise", {}), False)

    def _steps(self, kind: str) -> Iterator[Comparison]:
        sides = (self.single[kind], self.moved[kind], self.double.get(kind, self.single[kind]))
        losses = [np.concatenate([step["loss"] for step in side]) for side in sides]
        loss = compare.compare(kind, "loss", *losses, kind=self.kind if len(losses[0]) > 1 else "tensor")
        yield training_record.by_step(loss, *losses)
        yield from self._weights(kind, sides)

    def _weights(self, kind: str, sides: Steps) -> Iterator[Comparison]:
        for name in self.single["weights"]:
            if name not in self.single.get("again", ()):  # a second path of a weight
                yield worst(*zip(*self._movements(kind, name, sides), strict=True))

    def _movements(self, kind: str, name: str, sides: Steps) -> Iterator[tuple[Comparison, str]]:
        """Yield the comparisons of a weight at each step, and where each is: its gradient, and how far it moves."""
        whole = self.single["weights"][name]
        trained = name in self.single["batches"][0]["gradients"]
        gradients = [self._gradients_of(name, steps) for steps in zip(*sides, strict=True)] if trained else []
        usual = rounding.usual_errors([(first, wide) for first, _, wide in gradients])
        for number, steps in enumerate(zip(*sides, strict=True), 1):
            values = [unpacked(step["values"][name], whole) for step in steps]
            before, after = self._rows(name, whole), [self._rows(name, value) for value in values]
            if trained:
                first, second, wide = gradients[number - 1]
                comparison = compare.compare(kind, name, first, second, wide, usual=usual[number - 1])
                yield self._sure(comparison, first, steps[0]["noise"]), f"gradient of step {number}"
                first, second, wide = (value.astype(np.float64) - before for value in after)
                second = first + _beyond(second - first, after[1], self._repeats(name, steps[1]))
                comparison = compare.compare(kind, name, first, second, wide)
                if steps[0]["gradients"].get(name) is None:  # the pass changes it, not the optimizer
                    comparison = self._sure(comparison, first, steps[0]["noise"], False)
                yield comparison, f"movement of step {number}"
            else:
                first, second, wide = after
                comparison = compare.compare(kind, name, first, second, wide)
                yield self._sure(comparison, first, steps[0]["noise"], False), f"value after step {number}"
            whole = values[1]

    def _sure(
        self, comparison: Comparison, first: Array, noise: Mapping[str, float], gradient: bool = True
    ) -> Comparison:
        """Return the comparison of a gradient or a running value, as equal where the original's own is no surer."""
        uncertain = noise.get(comparison.name, 0.0)
        if rounding.is_undetermined(comparison, first, uncertain):
            self._unsure.add(comparison.name)
            wide = None if self.double is self.single else self.double.get("noise", {}).get(comparison.name)
            comparison = rounding.undetermined_by_noise(comparison, first, uncertain, wide)
        return rounding.by_noise(comparison, first, uncertain, self.largest if gradient else 0.0)

    @functools.cached_property
    def largest(self) -> float:
        """The largest element of the original's gradients."""
        values = (value for batch in self.single["batches"] for value in _given(batch))
        return max((float(np.abs(value).max(initial=0.0)) for value in values), default=0.0)

    def _repeats(self, name: str, step: Result) -> Array | int:
        """Return how often each row was looked up: Paddle's SGD rounds a row as often as it adds to it."""
        gradient, shape = step["gradients"].get(name), self.single["weights"][name].shape
        if not isinstance(gradient, tuple):
            return 0
        counts = np.bincount(gradient[0].reshape(-1), minlength=shape[0]).reshape(-1, *[1] * (len(shape) - 1))
        return self._rows(name, counts)

    def _gradients_of(self, name: str, sides: Sequence[Result]) -> list[Array]:
        like = self.single["weights"][name]
        return [self._rows(name, or_zeros(side["gradients"].get(name), like)).reshape(-1) for side in sides]


#: How many units of the last place a weight may be off, when a step adds a number to it that is equal but for rounding.
_UNITS = 2


def _beyond(difference: Array, values: Array, repeats: Array | int) -> Array:
    """Return by how much a difference exceeds what float32 can tell of values of that size; 0 where it does not."""
    units = (_UNITS + repeats) * np.spacing(np.abs(values).astype(np.float32)).astype(np.float64)
    beyond: Array = np.sign(difference) * np.maximum(np.abs(difference) - units, 0.0)
    return beyond


def _flat(values: Sequence[Array]) -> Array:
    return np.concatenate([np.asarray(value).reshape(-1) for value in values]) if values else np.zeros(0)


def _given(batch: Result) -> Iterator[Array]:
    """Yield the numbers of each gradient of a batch."""
    for gradient in batch["gradients"].values():
        if gradient is not None:
            yield gradient[1] if isinstance(gradient, tuple) else gradient


def or_zeros(value: Any, like: Array) -> Array:
    """Return the gradient of a weight like this as an array: zeros where there is none."""
    return np.zeros(like.shape, like.dtype) if value is None else dense(value, like.shape)
