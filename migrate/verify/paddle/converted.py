"""Worker that runs the converted TensorFlow module of a Paddle model: `run(job)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

import runtime
from migrate.errors import MigrateError
from migrate.schema import Schema
from migrate.verify import training_record
from migrate.verify.loading import load_module
from migrate.verify.paddle.inputs import Batch, random_batches
from migrate.verify.paddle.side_by_side import Dense, Rows, Tables, facade
from migrate.verify.paddle.trainer.common import optimizer, watched
from migrate.verify.settings import Settings
from migrate.verify.tensorflow.initial import variable_distribution
from runtime import nn

Array = NDArray[Any]
v1: Any = tf.compat.v1


class Converted:
    """The converted model in the current graph, with one session."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        """Build the training graph with the functions of the module."""
        self.path: str = job["path"]
        self.schema: Schema = job["schema"]
        self.module = load_module(self.path)
        self.model = self._build_model(job["class"], job["arguments"])
        self.ids = v1.placeholder(tf.int64, [None, len(self.schema.input.sparse)], "verify_ids")
        self.dense = v1.placeholder(tf.float32, [None, self.schema.input.dense_size], "verify_dense")
        self.label = v1.placeholder(tf.float32, [None, len(self.schema.labels)], "verify_label")
        self.table, embedding = self._embedding()
        with watched(self.model, tf.Tensor) as self.outputs:
            built = self._get("build_model")(self.model, embedding, self.dense, self.label, is_training=job["training"])
        self.loss: tf.Tensor = built["loss"]
        self.predictions: list[tf.Tensor] = list(built["pred"])
        self.anchors = self.table.anchors if self.table else []
        dense = [one for one in v1.trainable_variables() if all(one is not anchor for anchor in self.anchors)]
        self.variables: dict[str, tf.Variable] = {_path(v): v for v in dense}
        self.trained = [*self.variables.values(), *self.anchors]
        self.gradients: list[Any] = tf.gradients(self.loss, self.trained)
        rows = [Rows(one) for one in self.table.tables] if self.table else []
        weights = [*map(Dense, self.variables.values()), *rows]
        steps = list(zip(weights, self.gradients, strict=True))
        stepped = {kind: optimizer(nn.optimizer, kind, rate, weights) for kind, rate in job["rates"].items()}
        self.updates = {kind: one.apply_gradients(steps) for kind, one in stepped.items()}
        self.rows, self.import_op, self.snapshot = self._rows()
        self.session = v1.Session()

    def layers(self) -> dict[str, slice]:
        """Return Paddle path -> columns of the table, for each layer that reads the raw input."""
        if self.table is None:
            return {}
        if hasattr(self.model, "table_layers"):
            return {layer.path: layer.columns for layers in self.model.table_layers for layer in layers}
        return nn.one_hot.placed(getattr(self.model, "input_layers", ()))

    def widths(self) -> dict[str, tuple[int, int]]:
        """Return the width of the table's rows and slots, by its name."""
        if self.table is None:
            return {}
        return {self.table.name: (self.table.dim, int(self.session.run(self.slots)))}

    def _get(self, name: str) -> Any:
        if not hasattr(self.module, name):
            raise MigrateError(
                f"{self.path}: has no `{name}`, so it was not converted from this model; give the converted file"
            )
        return getattr(self.module, name)

    def _build_model(self, name: str, arguments: Mapping[str, object]) -> Any:
        try:
            return self._get(name)(**arguments)
        except (TypeError, ValueError) as error:
            raise MigrateError(
                f"{self.path}: {name}({', '.join(map(str, arguments))}) fails: {error}; convert the file again"
            ) from error

    def _embedding(self) -> tuple[Tables | None, tf.Tensor | None]:
        if not self.schema.input.sparse or not getattr(self.model, "emb_dim", 0):
            return None, None
        if hasattr(self.module, "create_embedding_tables"):
            tables = self.module.create_embedding_tables(self.model)
            return Tables(tables), self._get("lookup_embedding")(tables, self.ids)
        table = self._get("create_embedding_table")(self.model)
        if hasattr(self.module, "lookup_embedding"):
            return Tables([table]), self.module.lookup_embedding(table, self.ids)
        rows = runtime.sparse_lookup(table, self._get("sparse_keys")(self.ids))
        return Tables([table]), tf.reduce_sum(rows, axis=1)

    def _rows(self) -> tuple[tf.Tensor | None, tf.Operation | None, Any]:
        if self.table is None:
            return None, None, ()
        keys, values, self.slots = self.table.snapshot()
        rows = v1.placeholder(tf.float32, [self.schema.input.rows, self.table.dim], "verify_rows")
        return rows, self.table.import_rows(np.arange(self.schema.input.rows), rows), (keys, values)


def _path(variable: tf.Variable) -> str:
    """Return the Paddle path of a variable: `expert_0.weight` for `mmoe/expert_0/weight:0`."""
    return str(variable.op.name).partition("/")[2].replace("/", ".")


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Measure the same as `original.run`, with the same weights and batches."""
    settings: Settings = job["settings"]
    with facade(job["path"]), tf.Graph().as_default():
        v1.set_random_seed(1)
        side = Converted(job)
        initializer = v1.global_variables_initializer()
        probe = side.table.rows(np.arange(job["schema"].input.rows)) if side.table else tf.zeros([0, 0])
        drawn = random_batches(job["schema"], settings.drawn, settings.batch_size, settings.seed)
        with side.session:
            side.session.run(initializer)
            result = _initial(side, probe)
            restart = _restart(side, initializer, job["weights"])
            result["batches"] = [_passes(side, restart, batch) for batch in drawn[: settings.batches]]
            for kind in side.updates:
                result[kind] = _steps(side, restart, drawn[: settings.steps], kind)
            result["held"] = training_record.held(side.widths())
        return result


def _initial(side: Converted, probe: tf.Tensor) -> dict[str, Any]:
    return {
        "layers": side.layers(),
        "initial": side.session.run(side.variables),
        "distributions": {
            path: variable_distribution(side.session.run, variable) for path, variable in side.variables.items()
        },
        "table": side.session.run(probe),
        "table_distribution": side.table.distribution() if side.table else "",
    }


def _restart(side: Converted, initializer: tf.Operation, weights: Mapping[str, Array]) -> Callable[[], None]:
    """Return a function that resets all state to the original's weights."""
    layers, spec = side.layers(), side.schema.input
    missing = sorted(set(weights) ^ set(side.variables))
    if missing:
        where = side.path if missing[0] in weights else "the original"
        raise MigrateError(
            f"{where}: has no parameter `{missing[0]}`, so the two files do not match; convert the file again"
        )
    raw = {path + ".weight": columns for path, columns in layers.items()}
    rows = np.zeros((spec.rows, side.table.dim if side.table else 0), np.float32)
    dense = dict(weights)
    for name, columns in raw.items():
        rows[:, columns] = weights[name][list(spec.key_columns)]
        dense[name] = weights[name][list(spec.dense_columns)]

    def restart() -> None:
        side.session.run(initializer)
        for path, variable in side.variables.items():
            variable.load(dense[path], side.session)
        if side.import_op is not None:
            side.session.run(side.import_op, {side.rows: rows})

    return restart


def _feed(side: Converted, batch: Batch) -> dict[tf.Tensor, Array]:
    return {side.ids: batch.ids, side.dense: batch.dense, side.label: batch.labels}


def _passes(side: Converted, restart: Callable[[], None], batch: Batch) -> dict[str, Any]:
    restart()
    present = [i for i, gradient in enumerate(side.gradients) if gradient is not None]
    fetches = (side.outputs, side.predictions, side.loss, [side.gradients[i] for i in present])
    outputs, pred, loss, gradients = side.session.run(fetches, _feed(side, batch))
    names = list(side.variables)
    found = {names[i]: _plain(gradients[at]) for at, i in enumerate(present) if i < len(side.variables)}
    slices = [_plain(gradients[at]) for at, i in enumerate(present) if i >= len(side.variables)]
    if slices:
        found["table"] = _beside_each_other(side, slices)
    return {"outputs": outputs, "pred": pred, "loss": loss, "gradients": found}


def _plain(gradient: Any) -> Any:
    """Return IndexedSlices as (keys, values), because the comparing process cannot unpickle TensorFlow types."""
    return gradient if isinstance(gradient, np.ndarray) else (gradient.indices, gradient.values)


def _steps(side: Converted, restart: Callable[[], None], batches: Sequence[Batch], kind: str) -> list[dict[str, Any]]:
    restart()
    steps = []
    for batch in batches:
        feed = _feed(side, batch)
        loss = side.session.run(side.loss, feed)
        side.session.run(side.updates[kind], feed)
        values, snapshot = side.session.run((side.variables, side.snapshot))
        steps.append({"loss": loss, "values": values, "rows": _in_order(*snapshot) if side.table else np.zeros((0, 0))})
    return steps


def _beside_each_other(side: Converted, slices: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return the gradients of all tables as those of one; all are looked up with the same keys."""
    keys = slices[0][0]
    if len(slices) != len(side.anchors) or any(not np.array_equal(one[0], keys) for one in slices):
        raise MigrateError(f"{side.path}: its tables are not looked up with the same keys; convert the file again")
    return keys, np.concatenate([one[1] for one in slices], axis=1)


def _in_order(keys: Sequence[Array], values: Sequence[Array]) -> Array:
    """Return the rows of all tables, ordered by key; the keys must be the imported ones, 0, 1, 2, …"""
    return np.concatenate([_ordered(*one) for one in zip(keys, values, strict=True)], axis=1)


def _ordered(keys: Array, values: Array) -> Array:
    order = np.argsort(keys)
    if not np.array_equal(keys[order], np.arange(len(keys))):
        raise MigrateError(
            f"the table has keys that the model's input does not have, up to {keys.max()}; convert the file again"
        )
    return values[order]
