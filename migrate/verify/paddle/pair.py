"""Runs a Paddle model and its converted module in worker processes, and compares their results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from migrate.errors import MigrateError
from migrate.report.model import Comparison, Memory, Verification
from migrate.schema import Schema, Task
from migrate.source.files.encoding import read_source
from migrate.source.paddle.abstract.program import settings as configured
from migrate.source.paddle.one_hot.following import batch_layout, model_arguments
from migrate.verify import compare, distributions, progress, training_record, workers
from migrate.verify.paddle.inputs import random_batches
from migrate.verify.paddle.layout import Layout
from migrate.verify.paddle.static.pair import StaticPair
from migrate.verify.paddle.trainer.common import RATES, Array, dense
from migrate.verify.paddle.trainer.pair import Result, Steps, or_zeros
from migrate.verify.settings import Settings

_ORIGINAL, _CONVERTED = "migrate.verify.paddle.original", "migrate.verify.paddle.converted"


def verify(original: str, converted: str, schema: Schema | None, settings: Settings) -> Verification:
    """Run both files and compare them stage by stage; raises `MigrateError` as `measure`."""
    pair = measure(original, converted, schema, settings)
    return Verification(original, converted, tuple(pair.comparisons()), pair.notes, pair.memory())


def measure(original: str, converted: str, schema: Schema | None, settings: Settings) -> Pair:
    """Run the Paddle file in float32 and float64, then the converted module.

    Raises:
        MigrateError: `schema` is None, or one of the files cannot be run.
    """
    if schema is None:
        raise MigrateError(
            f"{original}: is a Paddle model, whose input must be described by a schema; give --schema FILE"
        )
    batches = random_batches(schema, settings.drawn, settings.batch_size, settings.seed)
    job = {"path": original, "schema": schema, "settings": settings, "rates": RATES, "batches": batches}
    job |= _model(original, schema)
    progress.expect(3)
    runs = workers.run_together([(_ORIGINAL, {**job, "dtype": dtype}) for dtype in ("float32", "float64")])
    single, wide = runs
    if isinstance(single, MigrateError):
        raise single
    double, without = workers.with_reference(single, wide)
    known = {key: single[key] for key in ("training", "weights")}
    moved = workers.run(_CONVERTED, {**job, "path": converted, **known})
    layout = Layout(schema.input, moved["tables"])
    parted = [_parted(side, layout, schema.tasks) for side in (single, double)]
    touched = [layout.touched(batch.ids) for batch in batches]
    return Pair(layout, touched, {**parted[0], "notes": (*single["notes"], *without)}, parted[1], moved)


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


def _parted(side: Result, layout: Layout, tasks: Sequence[Task]) -> dict[str, Any]:
    """Return what the original has measured, with its weights in the parts of the converted model, and predictions."""
    parted = {**side, **{key: layout.parted(side[key]) for key in ("initial", "weights", "distributions")}}
    shapes = {name: value.shape for name, value in side["weights"].items()}
    parted["batches"] = []
    for batch in side["batches"]:
        slopes = {n: None if one is None else dense(one, shapes[n]) for n, one in batch["gradients"].items()}
        predictions = _predictions(tasks, batch["outputs"])
        parted["batches"].append({**batch, "gradients": layout.parted(slopes), "pred": predictions})
    for kind in RATES:
        parted[kind] = [{**step, "values": layout.parted(step["values"])} for step in side[kind]]
    return parted


def _predictions(tasks: Sequence[Task], outputs: Sequence[Array]) -> list[Array]:
    """Return the expected `pred` of `build_model`: the positive class of each task, [batch]."""
    if not tasks:
        return [output[:, -1] if output.ndim > 1 else output for output in outputs]
    return [_prediction(task, outputs[task.output]) for task in tasks]


def _prediction(task: Task, output: Array) -> Array:
    if output.ndim == 1:
        return output
    if task.loss == "cross_entropy":
        wide = np.exp(output - output.max(axis=1, keepdims=True))
        output = wide / wide.sum(axis=1, keepdims=True)
    return np.asarray(output[:, 0 if task.loss == "square_error" else task.positive])


class Pair(StaticPair):
    """The results of both programs: weights that read the raw input are in parts, and are compared after each step."""

    kind = "output"

    def __init__(self, layout: Layout, touched: Sequence[Array], single: Result, double: Result, moved: Result) -> None:
        """Take masks of the keys that each batch looks up, and what the workers have measured."""
        super().__init__(single, double, moved)
        self.layout, self.touched = layout, touched
        random = () if single["training"] else ("the model is random in training mode, so evaluation mode is compared",)
        dead = [name for name in single["weights"] if not self._is_compared(name)]
        unused = (f"the loss depends on {', '.join(dead)} in neither program",) if dead else ()
        self.notes = (*single["notes"], *random, *unused)

    def _stages(self) -> Iterator[Comparison]:
        for name, first in self.single["initial"].items():
            laws = [side["distributions"].get(name) for side in (self.single, self.moved)]
            yield distributions.compare_initial(name, first, self.moved["initial"][name], *laws)
        yield from self._lists("forward", "outputs", "output")
        yield from self._lists("forward", "pred", "pred")
        yield self._loss()
        yield from self._gradients()
        if self.layout.tables:
            yield self._silent_rows()
        for kind in RATES:
            yield from self._steps(kind)
        yield from self.optimizer()

    def optimizer(self) -> Iterator[Comparison]:
        """Yield a failure for each setting of the trainer's optimizer that the converted module cannot have."""
        for told in self.single["beyond"]:
            name = f"create_optimizer: {self.single['optimizer']}"
            yield compare.missing("optimizer", name, f"{told}, but the converted module has no optimizer")

    def _is_compared(self, name: str, *_: Any) -> bool:
        """Return False if no loss depends on a weight; a table then has zeros in its columns of the gradient."""
        if self.single["batches"][0]["gradients"][name] is not None:
            return True
        if name not in self.layout.tables:
            return name in self.moved["batches"][0]["gradients"]
        return any(self._gradient(self.moved, at, name).any() for at in range(len(self.moved["batches"])))

    def _gradient(self, side: Result, at: int, name: str) -> Array:
        return or_zeros(side["batches"][at]["gradients"].get(name), self.single["weights"][name])

    def _silent_rows(self) -> Comparison:
        """Compare rows that a batch does not look up: zero gradients in the kernel, and none in the slices."""
        kernels, tables, strange = [], [], 0
        for at, batch in enumerate(self.moved["batches"]):
            idle = ~self.touched[at]
            kernels += [self._gradient(self.single, at, name)[idle].reshape(-1) for name in self.layout.tables]
            tables += [self._gradient(self.moved, at, name)[idle].reshape(-1) for name in self.layout.tables]
            keys = [batch["gradients"][name][0] for name in self.layout.tables if name in batch["gradients"]]
            strange += len(np.setdiff1d(np.concatenate([[], *keys]), np.flatnonzero(self.touched[at])))
        note = (
            f"{strange} keys with a gradient were not looked up"
            if strange
            else "rows not looked up, zero in both programs"
        )
        result = compare.exactly(
            "gradient", "[table] other rows", np.concatenate(kernels), np.concatenate(tables), note
        )
        return replace(result, verdict="differs") if strange else result

    def memory(self) -> tuple[Memory, ...]:
        """Return what each table takes beside matrices over one-hot columns, each with the slots of its optimizer."""
        weights, held = self.single["weights"], self.moved["held"]
        matrices = {table: [weights[n] for n, own in self.layout.tables.items() if own == table] for table in held}
        return tuple(one for table in held for one in training_record.memory(table, held[table], matrices[table], None))

    def _weights(self, kind: str, sides: Steps) -> Iterator[Comparison]:
        """Yield comparisons of weights, each at its worst step, and of rows without a lookup, which never change."""
        moments = [f"at step {number}" for number in range(1, len(sides[1]) + 1)]
        idle, last = ~np.logical_or.reduce(self.touched[: len(moments)]), dict[str, Array]()
        for name in self.single["weights"]:
            values = [list(self._after(name, steps)) for steps in sides]
            last[name] = values[1][-1]
            steps = [compare.compare(kind, name, *step) for step in zip(*values, strict=True)]
            yield compare.worst(steps, moments)
        for name in self.layout.tables:
            start = self.single["weights"][name][idle]
            if start.size:
                label = name.replace("[table]", "[table, idle rows]")
                yield compare.exactly(kind, label, start, last[name][idle], "first and last values")
