"""Runs a Paddle model and its converted module in worker processes, and compares their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migrate.errors import MigrateError
from migrate.report.model import Comparison, Memory, Verification
from migrate.schema import Schema, Task
from migrate.source.files.encoding import read_source
from migrate.source.paddle.abstract.program import settings as configured
from migrate.source.paddle.one_hot.following import batch_layout, model_arguments
from migrate.verify import compare, distributions, progress, training_record, workers
from migrate.verify.paddle.inputs import random_batches
from migrate.verify.paddle.layout import Layout
from migrate.verify.paddle.trainer.common import RATES
from migrate.verify.settings import Settings

Array = NDArray[Any]
Result = Mapping[str, Any]

_ORIGINAL, _CONVERTED = "migrate.verify.paddle.original", "migrate.verify.paddle.converted"


def verify(original: str, converted: str, schema: Schema | None, settings: Settings) -> Verification:
    """Run both files and compare them stage by stage; raises `MigrateError` as `measure`."""
    pair = measure(original, converted, schema, settings)
    return Verification(original, converted, tuple(pair.comparisons()), pair.notes(), tuple(pair.memory()))


def measure(original: str, converted: str, schema: Schema | None, settings: Settings) -> Pair:
    """Run the Paddle file in float32 and float64, then the converted module.

    Raises:
        MigrateError: `schema` is None, or one of the files cannot be run.
    """
    if schema is None:
        raise MigrateError(
            f"{original}: is a Paddle model, whose input must be described by a schema; give --schema FILE"
        )
    job = {"path": original, "schema": schema, "settings": settings, "rates": RATES, **_model(original, schema)}
    progress.expect(3)
    runs = workers.run_together([(_ORIGINAL, {**job, "dtype": dtype}) for dtype in ("float32", "float64")])
    single, wide = runs
    if isinstance(single, MigrateError):
        raise single
    double, without = workers.with_reference(single, wide)
    known = {key: single[key] for key in ("training", "weights")}
    moved = workers.run(_CONVERTED, {**job, "path": converted, **known})
    return Pair(schema, settings, {**single, "notes": (*single["notes"], *without)}, double, moved)


def _model(original: str, schema: Schema) -> dict[str, Any]:
    path = Path(original)
    names = [path.parent / name for name in ("dygraph_model.py", "config.yaml")]
    siblings = {name.name: read_source(name) for name in names if name.is_file()}
    text = read_source(path)
    name, arguments = model_arguments(original, text, schema, siblings)
    return {
        "class": name,
        "arguments": arguments,
        "config": configured(siblings),
        "layout": batch_layout(original, text, schema, siblings),
    }


class Pair:
    """The results of both programs, and their comparisons."""

    def __init__(self, schema: Schema, settings: Settings, single: Result, double: Result, moved: Result) -> None:
        """Take the results of the workers: the original in float32 and float64, and the converted module."""
        self.single, self.double, self.moved = single, double, moved
        self.schema, self.batches = schema, len(single["batches"])
        self.layout = Layout(schema.input, moved["layers"])
        drawn = random_batches(schema, settings.drawn, settings.batch_size, settings.seed)
        self.touched = [self.layout.touched(batch.ids) for batch in drawn]

    def comparisons(self) -> Iterator[Comparison]:
        """Yield all comparisons, stage by stage."""
        yield from self.initial()
        yield from self.forward()
        yield from self.gradients()
        for kind in RATES:
            yield from self.steps(kind)
        yield from self.optimizer()

    def notes(self) -> tuple[str, ...]:
        """Return notes on how the results were obtained."""
        mode = (
            () if self.single["training"] else ("the model is random in training mode, so evaluation mode is compared",)
        )
        dead = [label for name, label, part in self._parts() if not self._has_gradient(name, part)]
        unused = (f"the loss depends on {', '.join(dead)} in neither program",) if dead else ()
        return (*self.single["notes"], *mode, *unused)

    def optimizer(self) -> Iterator[Comparison]:
        """Yield a failure for each setting of the trainer's optimizer that the converted module cannot have."""
        for told in self.single["beyond"]:
            name = f"create_optimizer: {self.single['optimizer']}"
            yield compare.missing("optimizer", name, f"{told}, but the converted module has no optimizer")

    def _parts(self) -> Iterator[tuple[str, str, str]]:
        for name in self.single["weights"]:
            for label, part in self.layout.parts(name):
                yield name, label, part

    def initial(self) -> Iterator[Comparison]:
        """Yield comparisons of initial values: of constants exactly, of random values by their distributions."""
        for name, value in self.single["initial"].items():
            for label, part in self.layout.parts(name):
                yield self._initial(name, label, part, value)

    def _initial(self, name: str, label: str, part: str, value: Array) -> Comparison:
        first = self.layout.of_original(name, part, value)
        second = self.layout.of_converted(name, part, self.moved["initial"], self.moved["table"])
        distribution = self.single["distributions"].get(name)
        if distribution is None:
            return compare.exactly("initial", label, first, second, _constant(first))
        if part == "sparse":
            return distributions.compare_distributions(
                label,
                distribution,
                distributions.distribution_at(self.moved["table_distribution"], self.layout.start(name)),
                (first, second),
            )
        return distributions.compare_distributions(
            label,
            distribution,
            self.moved["distributions"].get(name) or distributions.constant(second),
            (first, second),
        )

    def forward(self) -> Iterator[Comparison]:
        """Yield comparisons of all outputs, predictions and the loss, over all batches."""
        outputs = [self._stacked(side, "outputs") for side in self._sides]
        if len(outputs[0]) != len(outputs[1]):
            raise MigrateError(
                f"the original returns {len(outputs[0])} outputs and the converted module {len(outputs[1])}; "
                "convert the file again"
            )
        for i, values in enumerate(zip(*outputs, strict=True)):
            yield compare.compare("forward", f"output {i}", *values, kind="output")
        predictions = [self._predictions(outputs[0]), self._stacked(self.moved, "pred"), self._predictions(outputs[2])]
        for i, values in enumerate(zip(*predictions, strict=True)):
            yield compare.compare("forward", f"pred {i}", *values, kind="output")
        losses = [np.array([batch["loss"] for batch in side["batches"]]) for side in self._sides]
        yield compare.compare("loss", "loss", *losses, kind="output" if len(losses[0]) > 1 else "tensor")

    def _stacked(self, side: Result, what: str) -> list[Array]:
        batches = side["batches"]
        return [np.concatenate([batch[what][i] for batch in batches]) for i in range(len(batches[0][what]))]

    def _predictions(self, outputs: Sequence[Array]) -> list[Array]:
        """Return the expected `pred` of `build_model`: the positive class of each task, [batch]."""
        if not self.schema.tasks:
            return [output[:, -1] if output.ndim > 1 else output for output in outputs]
        return [_prediction(task, outputs[task.output]) for task in self.schema.tasks]

    def gradients(self) -> Iterator[Comparison]:
        """Yield comparisons of gradients over all batches; rows that were not looked up must have none."""
        for name, label, part in self._parts():
            if not self._has_gradient(name, part):
                continue
            values = [
                np.stack([self._gradient(side, i, name, part) for i in range(self.batches)]) for side in self._sides
            ]
            yield compare.compare("gradient", label, *values, kind="gradient")
        if self.layout.columns:
            yield self._silent_rows()

    def _has_gradient(self, name: str, part: str) -> bool:
        """Return False if no loss depends on a parameter; a table then has zeros in its columns of the gradient."""
        if self.single["batches"][0]["gradients"][name] is not None:
            return True
        if part != "sparse":
            return name in self.moved["batches"][0]["gradients"]
        return any(self._gradient(self.moved, i, name, part).any() for i in range(self.batches))

    def _gradient(self, side: Result, at: int, name: str, part: str) -> Array:
        found = side["batches"][at]["gradients"]
        shape = self.layout.of_original(name, part, self.single["weights"][name]).shape
        if side is not self.moved:
            return np.zeros(shape) if found[name] is None else self.layout.of_original(name, part, found[name])
        if part != "sparse":
            return found[name] if name in found else np.zeros(shape)
        return self.layout.of_table(name, self._table_gradient(at))

    def _table_gradient(self, at: int) -> Array:
        slices = self.moved["batches"][at]["gradients"].get("table")
        rows, dim = self.moved["table"].shape
        return np.zeros((rows, dim)) if slices is None else compare.scatter(slices[0], slices[1], rows)

    def _silent_rows(self) -> Comparison:
        """Compare rows that a batch does not look up: zero gradients in the kernel, and none in the slices."""
        kernels, table, strange = [], [], 0
        for i in range(self.batches):
            idle = ~self.touched[i]
            kernels += [self._gradient(self.single, i, name, "sparse")[idle] for name in self.layout.columns]
            table += [self.layout.of_table(name, self._table_gradient(i))[idle] for name in self.layout.columns]
            slices = self.moved["batches"][i]["gradients"].get("table")
            strange += 0 if slices is None else len(np.setdiff1d(slices[0], np.flatnonzero(self.touched[i])))
        note = (
            f"{strange} keys with a gradient were not looked up"
            if strange
            else "rows not looked up, zero in both programs"
        )
        result = compare.exactly("gradient", "[table] other rows", _flat(kernels), _flat(table), note)
        return replace(result, verdict="differs") if strange else result

    def memory(self) -> Iterator[Memory]:
        """Yield what the table takes beside the matrices over one-hot columns, each with the slots of its optimizer."""
        matrices = [self.layout.of_original(n, "sparse", self.single["weights"][n]) for n in self.layout.columns]
        for table, held in self.moved["held"].items():
            yield from training_record.memory(table, held, matrices, None)

    def steps(self, kind: str) -> Iterator[Comparison]:
        """Yield comparisons of losses, parameters and idle rows over an optimizer's steps, each at its worst step."""
        runs = [side[kind] for side in self._sides]
        moments = [f"at step {i + 1}" for i in range(len(runs[0]))]
        losses = [np.array([step["loss"] for step in run]) for run in runs]
        loss = compare.compare(kind, "loss", *losses, kind="output" if len(moments) > 1 else "tensor")
        yield training_record.by_step(loss, *losses)
        for name, label, part in self._parts():
            values = [
                [self._value(side, step, name, part) for step in run]
                for side, run in zip(self._sides, runs, strict=True)
            ]
            folded = [compare.compare(kind, label, *moment) for moment in zip(*values, strict=True)]
            yield compare.worst(folded, moments)
        if self.layout.columns:
            yield from self._idle_rows(kind)

    def _value(self, side: Result, step: Result, name: str, part: str) -> Array:
        if side is not self.moved:
            return self.layout.of_original(name, part, step["values"][name])
        return self.layout.of_converted(name, part, step["values"], step["rows"])

    def _idle_rows(self, kind: str) -> Iterator[Comparison]:
        """Yield comparisons of rows that no step looked up, which must be exactly unchanged."""
        idle = ~np.logical_or.reduce(self.touched[: len(self.moved[kind])])
        for name in self.layout.columns:
            start = self.layout.of_original(name, "sparse", self.single["weights"][name])[idle]
            end = self.layout.of_table(name, self.moved[kind][-1]["rows"])[idle]
            if start.size:
                yield compare.exactly(kind, f"{name} [table, idle rows]", start, end, "first and last values")

    @property
    def _sides(self) -> tuple[Result, Result, Result]:
        """The original, the converted module, and the original in float64, as `compare` takes them."""
        return self.single, self.moved, self.double


def _flat(parts: Sequence[Array]) -> Array:
    return np.concatenate([part.reshape(-1) for part in parts])


def _constant(values: Array) -> str:
    return f"constant {values.flat[0]:g}" if values.size and (values == values.flat[0]).all() else ""


def _prediction(task: Task, output: Array) -> Array:
    if output.ndim == 1:
        return output
    if task.loss == "cross_entropy":
        wide = np.exp(output - output.max(axis=1, keepdims=True))
        output = wide / wide.sum(axis=1, keepdims=True)
    return np.asarray(output[:, 0 if task.loss == "square_error" else task.positive])
