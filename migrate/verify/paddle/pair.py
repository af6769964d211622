"""Runs a Paddle model and its converted module in worker processes, and compares their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from migrate.verify import compare, progress, training_record, workers
from migrate.verify.comparer import Comparer
from migrate.verify.paddle.inputs import random_batches
from migrate.verify.paddle.layout import Layout
from migrate.verify.paddle.trainer.common import RATES, dense
from migrate.verify.recording import Array, Recording
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
    double, without = workers.with_reference(wide)
    known = {"training": single["training"], "weights": single["recording"].weights}
    moved = workers.run(_CONVERTED, {**job, "path": converted, **known})
    layout = Layout(schema.input, moved["tables"])
    own, reference = (
        None if side is None else parted(side, layout, schema.tasks) for side in (single["recording"], double)
    )
    assert own is not None
    touched = [layout.touched(batch.ids) for batch in batches]
    return Pair(layout, touched, own, moved["recording"], reference, {**single, "notes": (*single["notes"], *without)})


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


def parted(side: Recording, layout: Layout, tasks: Sequence[Task]) -> Recording:
    """Return a recording of the original with weights in the parts of the converted model, and predictions."""
    shapes = {name: value.shape for name, value in side.weights.items()}
    passes = []
    for batch in side.passes:
        slopes = {n: None if one is None else dense(one, shapes[n]) for n, one in batch.gradients.items()}
        forward = {**batch.outputs["forward"], "pred": _predictions(tasks, batch.outputs["forward"]["output"])}
        passes.append(replace(batch, gradients=layout.parted(slopes), outputs={"forward": forward}))
    steps = {
        kind: [replace(step, values=layout.parted(step.values)) for step in steps] for kind, steps in side.steps.items()
    }
    return replace(
        side,
        initial=layout.parted(side.initial),
        weights=layout.parted(side.weights),
        distributions=layout.parted(side.distributions),
        passes=passes,
        steps=steps,
    )


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


class Pair(Comparer):
    """What both programs record: weights that read the raw input are in parts."""

    def __init__(
        self,
        layout: Layout,
        touched: Sequence[Array],
        original: Recording,
        converted: Recording,
        reference: Recording | None,
        told: Mapping[str, Any],
    ) -> None:
        """Take masks of the keys that each batch looks up, the recordings, and what the original's worker tells."""
        super().__init__(original, converted, reference)
        self.layout, self.touched, self.told = layout, touched, told
        random = () if told["training"] else ("the model is random in training mode, so evaluation mode is compared",)
        dead = [name for name in original.passes[0].gradients if not self.is_compared(name)]
        unused = (f"the loss depends on {', '.join(dead)} in neither program",) if dead else ()
        self._notes = (*told["notes"], *random, *unused)

    def gradients(self) -> Iterator[Comparison]:
        """Yield comparisons of all gradients, and of those of rows that no batch looks up."""
        yield from super().gradients()
        if self.layout.tables:
            yield self._silent_rows()

    def _stages(self) -> Iterator[Comparison]:
        yield from super()._stages()
        for reason in self.told["beyond"]:
            name = f"create_optimizer: {self.told['optimizer']}"
            yield compare.missing("optimizer", name, f"{reason}, but the converted module has no optimizer")

    def _silent_rows(self) -> Comparison:
        """Compare rows that a batch does not look up: zero gradients in the kernel, and none in the slices."""
        rows: tuple[list[Array], list[Array]] = ([], [])
        strange = 0
        for touched, *batches in zip(self.touched, self.original.passes, self.converted.passes, strict=False):
            gradients = [{name: batch.gradients.get(name) for name in self.layout.tables} for batch in batches]
            for side, found in zip(rows, gradients, strict=True):
                side += [self._dense(name, one)[~touched].reshape(-1) for name, one in found.items()]
            keys = [one[0] for one in gradients[1].values() if isinstance(one, tuple)]
            strange += len(np.setdiff1d(np.concatenate([[], *keys]), np.flatnonzero(touched)))
        note = (
            f"{strange} keys with a gradient were not looked up"
            if strange
            else "rows not looked up, zero in both programs"
        )
        first, second = map(np.concatenate, rows)
        result = compare.exactly("gradient", "[table] other rows", first, second, note)
        return replace(result, verdict="differs") if strange else result

    def _dense(self, name: str, gradient: Any) -> Array:
        shape = self.original.weights[name].shape
        return np.zeros(shape) if gradient is None else dense(gradient, shape)

    def memory(self) -> tuple[Memory, ...]:
        """Return what each table takes beside matrices over one-hot columns, each with the slots of its optimizer."""
        weights, held = self.original.weights, self.converted.held
        matrices = {table: [weights[n] for n, own in self.layout.tables.items() if own == table] for table in held}
        return tuple(one for table in held for one in training_record.memory(table, held[table], matrices[table], None))
