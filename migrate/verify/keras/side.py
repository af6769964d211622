"""Worker that runs and records an original or a converted Keras program: `run(job)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from migrate.errors import MigrateError
from migrate.verify.keras.recorder import Recorder, Traced, as_rows, inner_of, rows_of, table_of
from migrate.verify.keras.watching import watching, watching_traced
from migrate.verify.program_files import no_table
from migrate.verify.recording import STAGE, Recording
from migrate.verify.settings import Settings
from migrate.verify.tensorflow.measure import TableNames, after_step, of_converted
from migrate.verify.tensorflow.names import table_distribution
from migrate.verify.tensorflow.program import run_script
from migrate.verify.weights import random_weights
from runtime import native
from runtime.lookup.sparse import sparse_lookup
from runtime.policy.base import put_matrix

Known = list[tuple[str, Any]]


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Run the program and return what was recorded.

    With `job["traced"]`, it runs as its user runs it, and only its steps are recorded.
    With `job["known"]`, the variables of the original in order, this is the converted program. With `job["wide"]`, the
    values that the original began with, it computes in float64. Both follow its steps, `job["lead"]`.
    """
    settings: Settings = job["settings"]
    if "wide" in job:
        tf.keras.backend.set_floatx("float64")
    side = _Converted(job) if "known" in job else _Original(job)
    recorder = side.recorder = (Traced if "traced" in job else Recorder)(settings, side.begin, job.get("lead", ()))
    stopped = _ran(job, recorder)
    if not stopped and not ("traced" in job and recorder.steps):
        raise MigrateError(f"{job['path']}: {_why(recorder, settings, 'known' in job)}")
    losses = (recorder.passes[0] if recorder.passes else recorder.steps[0][0]).losses
    if not losses:
        raise MigrateError(
            f"{job['path']}: no gradient tape computes gradients, so there is no loss to compare; train with a tape"
        )
    tables, counts = side.tables(), {name: shape[0] for name, shape in side.shapes.items() if shape}
    moments = [
        replace(after_step(own.losses, variables, tables, found, counts), inputs=own.inputs)
        for own, variables, found in recorder.steps
    ]
    recording = Recording(
        side.initial,
        recorder.passes,
        {STAGE: moments},
        side.state,
        losses=[f"loss {number}" for number in range(len(losses))],
        varied=True,
        optimizers=recorder.optimizers,
    )
    return {
        "recording": side.completed(recording),
        "known": list(side.shapes.items()),
        "by_turns": isinstance(recorder, Traced) and recorder.by_turns,
    }


def _ran(job: Mapping[str, Any], recorder: Recorder) -> bool:
    """Run the program until the recorder stops it; return whether it did."""
    settings: Settings = job["settings"]
    seed = settings.seed
    watched = watching_traced(recorder, seed) if isinstance(recorder, Traced) else watching(recorder, seed)
    try:
        return run_script(job["path"], job["directory"], watched, settings.arguments)
    except MigrateError as error:
        if "traced" not in job:
            raise
        remark = "it trains with its functions run eagerly, but not with them traced, as without `migrate verify`"
        raise MigrateError(f"{error} ({remark})") from error


def _why(recorder: Recorder, settings: Settings, is_converted: bool) -> str:
    steps = len(recorder.passes) + len(recorder.steps) + 1
    if not recorder.names:
        if is_converted:
            return "takes no step by Keras or a gradient tape, as the original does; give the converted program"
        return "no optimizer step was found; give a program that trains when it is run"
    needed = settings.batches + settings.steps + 1
    return (
        f"it stopped after {steps} training steps, but {needed} are needed: one to find its variables, "
        f"{settings.batches} batches and {settings.steps} steps; give smaller --steps and --batches, or train longer"
    )


class _Side:
    """What the original and the converted program have in common."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.path, self.directory, self.settings = job["path"], job["directory"], job["settings"]
        self.recorder: Any = None
        self.initial: dict[str, Any] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.state: dict[str, Any] = dict(job.get("state", {}))  #: where passes and steps begin

    def begin(self, variables: list[Any]) -> list[str]:
        """Name the variables and set their values."""
        raise NotImplementedError

    def tables(self) -> dict[str, TableNames]:
        """Return the tables by name."""
        return {}

    def completed(self, recording: Recording) -> Recording:
        """Return the recording with what this kind of program has besides."""
        return recording


class _Original(_Side):
    """The original, which determines names and values."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        super().__init__(job)
        self.wide: Mapping[str, Any] = job.get("wide", {})

    def begin(self, variables: list[Any]) -> list[str]:
        names = []
        for variable in variables:
            name, number = str(getattr(variable, "path", variable.name)).removesuffix(":0"), 2
            unique = name
            while unique in self.shapes:
                unique, number = f"{name}_{number}", number + 1
            is_vector = len(variable.shape) == 1 and any(one is variable for one in self.recorder.layers)
            self.recorder.vectors |= {unique} if is_vector else set()
            self.initial[unique] = as_rows(_value_of(variable), is_vector)
            self.shapes[unique] = self.initial[unique].shape
            names.append(unique)
        tables = {id(rows_of(layer)) for layer in self.recorder.layers}
        fresh = dict(zip(names, variables, strict=True))
        looked_up = {name for name, variable in fresh.items() if id(variable) in tables}
        values = dict(self.wide) or random_weights(self.initial, names, looked_up, self.settings.seed)
        for name, variable in fresh.items():
            variable.assign(values[name].reshape(variable.shape))
        self.state |= values
        return names


class _Converted(_Side):
    """The converted program, which trains the variables of the original in the same order."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        super().__init__(job)
        self.left: Known = list(job["known"])
        self.labels: dict[str, TableNames] = {}
        self.rows: dict[str, Any] = {}

    def begin(self, variables: list[Any]) -> list[str]:
        if len(variables) > len(self.left):
            raise MigrateError(f"{self.path}: trains more variables than the original; give the converted program")
        names = []
        for variable in variables:
            name, shape = self.left.pop(0)
            table = table_of(variable)
            names.append(self._dense(name, shape, variable) if table is None else self._table(name, shape, table))
        return names

    def _dense(self, name: str, shape: tuple[int, ...], variable: Any) -> str:
        if tuple(variable.shape) != shape:
            raise MigrateError(
                f"{self.path}: trains `{variable.name}` {list(variable.shape)} instead of the original's `{name}` "
                f"{list(shape)}; give the converted program"
            )
        self.shapes[name], self.initial[name] = shape, _value_of(variable)
        variable.assign(self.state[name])
        return name

    def _table(self, name: str, shape: tuple[int, ...], table: Any) -> str:
        if len(shape) != 2 or shape[1] != table.dim:
            raise MigrateError(
                f"{self.path}: has the table `{table.table_name}` of dim {table.dim} instead of the original's "
                f"`{name}` {list(shape)}; give the converted program"
            )
        keys = np.arange(shape[0], dtype=np.int64)
        self.rows[name], self.shapes[name] = sparse_lookup(table, keys, is_train=False).numpy(), shape
        _set_rows(table, self.state[name])
        label, distribution = str(table.table_name), table_distribution(table)
        self.labels[name] = TableNames(label, table.dim, distribution, buckets=table.arguments.base_buckets)
        return name

    def tables(self) -> dict[str, TableNames]:
        if not self.labels:
            raise no_table(self.path, self.directory, self.settings.arguments)
        if self.left:
            raise MigrateError(
                f"{self.path}: does not train the original's `{self.left[0][0]}`; give the converted program"
            )
        return self.labels

    def completed(self, recording: Recording) -> Recording:
        for moment in recording.passes:
            looked_up = moment.outputs["forward"]
            moment.outputs = {"forward": {name: looked_up.get(name, []) for name in self.labels}}
        recording.initial = {**self.rows, **self.initial}
        return of_converted(recording, self.labels, self.recorder.steps[-1][2])


def _value_of(variable: Any) -> Any:
    """Return the value of a variable; zeros of one that a function has made, which has none before it runs."""
    inner = inner_of(variable)
    if isinstance(inner, tf.Variable) and not inner.is_initialized():
        return np.zeros(inner.shape, inner.dtype.as_numpy_dtype)
    return variable.numpy()


def _set_rows(table: Any, rows: Any) -> None:
    """Set the rows of the variable; ids that gave up their buckets begin as these, also those that were seen before."""
    if table.arguments.base_buckets:
        native.ops().rec_table_remove(table.handle, table.snapshot()[0])
    put_matrix(table, rows)
