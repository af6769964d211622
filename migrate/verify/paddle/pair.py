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
from migrate.source.paddle.abstract.values import Tensor
from migrate.source.paddle.model_files import TRAINER
from migrate.source.paddle.one_hot.following import follow
from migrate.source.paddle.one_hot.program import Program
from migrate.source.paddle.one_hot.trainer import text_of
from migrate.verify import compare
from migrate.verify.comparer import Comparer
from migrate.verify.paddle.random_batches import random_batches
from migrate.verify.paddle.running import Runs, run_both
from migrate.verify.recording import Array, Recording, memory_of
from migrate.verify.settings import Settings


def verify(original: str, converted: str, schema: Schema | None, settings: Settings) -> Verification:
    """Run both files and compare them stage by stage; raises `MigrateError` as `measure`."""
    pair = measure(original, converted, schema, settings)
    return Verification(original, converted, tuple(pair.comparisons()), pair.notes, pair.memory())


def measure(original: str, converted: str, schema: Schema | None, settings: Settings) -> Pair:
    """Run the Paddle file in float32 and float64, and the converted module, whose steps the original follows.

    Raises:
        MigrateError: `schema` is None, or one of the files cannot be run.
    """
    if schema is None:
        raise MigrateError(
            f"{original}: is a Paddle model, whose input must be described by a schema; give --schema FILE"
        )
    batches = random_batches(schema, settings.drawn, settings.batch_size, settings.seed)
    job = {"path": original, "schema": schema, "settings": settings, "batches": batches, **_model(original, schema)}
    return Pair(run_both("migrate.verify.paddle", job, converted), schema.tasks)


def _model(original: str, schema: Schema) -> dict[str, Any]:
    path = Path(original)
    names = [path.parent / name for name in (TRAINER, "config.yaml")]
    siblings = {name.name: read_source(name) for name in names if name.is_file()}
    try:
        program = follow(original, read_source(path), schema, siblings)
    except SyntaxError as error:
        raise MigrateError(f"{original}: line {error.lineno} is not valid Python ({error.msg}); correct it") from error
    labels = [item for item in range(len(schema.labels) + 1) if item != program.batch_input]
    return {
        "class": program.name,
        "arguments": dict(program.arguments),
        "config": configured(siblings),
        "default": program.default_text or _default_text(program),
        "layout": (program.batch_input, program.batch_labels or {item: column for column, item in enumerate(labels)}),
    }


def _default_text(program: Program) -> str:
    """Return the trainer of a model that could not be followed, whose module was written by hand."""
    if program.outputs or (program.trainer is not None and program.method("train_forward") is not None):
        return ""
    loss = None if program.trainer is None else program.method("create_loss")
    count = 1 + max((task.output for task in program.schema.tasks), default=0)
    if loss is not None:
        count = len(loss.node.args.args) - 1 - len(program.schema.labels)
    return text_of(program.schema, [Tensor((None, None))] * count, count > 1, loss)


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
    """What both programs record."""

    def __init__(self, runs: Runs, tasks: Sequence[Task]) -> None:
        """Take both runs; the module has predictions, too, which are those of the tasks."""
        own, wide = _predicting(runs.original, tasks), runs.reference
        super().__init__(own, runs.converted, None if wide is None else _predicting(wide, tasks))
        self.runs = runs
        dead = [name for name in own.passes[0].gradients if not self.is_compared(name)]
        unused = (f"the loss depends on {', '.join(dead)} in neither program",) if dead else ()
        self._notes = (runs.original_answer["note"], *runs.notes, *unused)

    def _stages(self) -> Iterator[Comparison]:
        yield from super()._stages()
        for reason in self.runs.original_answer["beyond"]:
            name = f"create_optimizer: {self.runs.original_answer['optimizer']}"
            yield compare.missing("optimizer", name, f"{reason}, but the converted module has no optimizer")

    def memory(self) -> tuple[Memory, ...]:
        """Return what each table takes beside the rows over one-hot columns, each with the slots of its optimizer."""
        keys, answer = list(self.runs.original_answer["keys"]), self.runs.answer["tables"]
        rows = {name: self.original.weights[name][keys] for name in answer}
        held = self.converted.held.items()
        of_table = ((table, own, [rows[n] for n, its in answer.items() if its == table]) for table, own in held)
        return tuple(one for table, own, values in of_table for one in memory_of(table, own, values, None))


def _predicting(side: Recording, tasks: Sequence[Task]) -> Recording:
    """Return a recording of the original with the predictions that the module makes of its outputs."""
    passes = []
    for batch in side.passes:
        forward = batch.outputs["forward"]
        forward = {**forward, "pred": _predictions(tasks, forward["output"])}
        passes.append(replace(batch, outputs={**batch.outputs, "forward": forward}))
    return replace(side, passes=passes)
