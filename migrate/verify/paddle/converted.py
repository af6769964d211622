"""Worker that runs the converted TensorFlow module of a Paddle model: `run(job)`."""

from __future__ import annotations

import ast
import contextlib
import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import runtime
from migrate.errors import MigrateError
from migrate.schema import Schema
from migrate.verify.compare import scatter
from migrate.verify.distributions import Distribution, differ, distribution_at
from migrate.verify.paddle.graph_side import GraphSide, ran
from migrate.verify.paddle.random_batches import Batch
from migrate.verify.paddle.trainer.common import Array, watched
from migrate.verify.paddle.trainer.graph_random_numbers import drawn
from migrate.verify.program_files import load_module
from migrate.verify.tensorflow.names import table_distribution, variable_distribution
from runtime import native, nn
from runtime.nn.weights.arrays import read_rows, write_rows
from runtime.nn.weights.table_weight import TableWeight
from runtime.nn.weights.weight import Parameter

v1: Any = tf.compat.v1


class Converted(GraphSide):
    """The converted model in the current graph; of layers that read the raw input, a table has rows of the weights."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        """Build the training graph with the functions of the module."""
        self.path: str = job["path"]
        self.schema: Schema = job["schema"]
        self.start: Mapping[str, Array] = job["weights"]
        self.drawn: Mapping[str, Distribution] = job["distributions"]  #: of the original
        self.module = load_module(self.path)
        self.model = self._build_model(job["class"], job["arguments"])
        self.ids = v1.placeholder(tf.int64, [None, len(self.schema.input.sparse)], "verify_ids")
        self.dense = v1.placeholder(tf.float32, [None, self.schema.input.dense_size], "verify_dense")
        self.label = v1.placeholder(tf.float32, [None, len(self.schema.labels)], "verify_label")
        self.tables, embedding = self._embedding()
        with watched(self.model, tf.Tensor) as returned, drawn():
            built = self._get("build_model")(self.model, embedding, self.dense, self.label, is_training=True)
        self.loss: tf.Tensor = built["loss"]
        self.outputs = {"output": returned, "pred": built["pred"]}
        anchors = [table.variable for table in self.tables]
        dense = [one for one in v1.trainable_variables() if all(one is not anchor for anchor in anchors)]
        # `mmoe/expert_0/weight:0` is `expert_0.weight` in Paddle.
        self.variables = {str(one.op.name).partition("/")[2].replace("/", "."): one for one in dense}
        self.rows = [Rows(table) for table in self.tables]
        weights = [*map(Dense, dense), *self.rows]
        self.weights = {one.table.table_name: one for one in self.rows}
        self.places = self._places()
        self.parameters = frozenset(self.variables)
        slopes: list[Any] = tf.gradients(self.loss, [*dense, *anchors])
        names = [*self.variables, *range(len(self.tables))]
        self.gradients = {name: one for name, one in zip(names, slopes, strict=True) if one is not None}
        self.steps_of(job["rates"], list(zip(weights, slopes, strict=True)), weights)
        # The init op of a counted table, as DeepRec's are, keeps its rows and slots where it runs again.
        counted = [table for table in self.tables if table.reads_each_step]
        self._resets = [native.ops().rec_table_reset(table.created) for table in counted]
        self._keys = [table.snapshot()[0] for table in self.tables]

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

    def _embedding(self) -> tuple[list[Any], tf.Tensor | None]:
        """Return the tables of the runtime, in the order of their columns, and what is looked up in them."""
        if not self.schema.input.sparse or not getattr(self.model, "emb_dim", 0):
            return [], None
        if hasattr(self.module, "create_embedding_tables"):
            tables = self.module.create_embedding_tables(self.model)
            return [getattr(one, "table", one) for one in tables], self._get("lookup_embedding")(tables, self.ids)
        table = self._get("create_embedding_table")(self.model)
        if hasattr(self.module, "lookup_embedding"):
            return [getattr(table, "table", table)], self.module.lookup_embedding(table, self.ids)
        rows = runtime.sparse_lookup(table, self._get("sparse_keys")(self.ids))
        return [table], tf.reduce_sum(rows, axis=1)

    def _places(self) -> dict[str, tuple[int, slice]]:
        """Return for each weight that reads the raw input the number of its table, and its columns there."""
        layers = self.model.input_layers if self.tables else ()
        own = {layer.path: layer.columns for layer in layers if not isinstance(layer, nn.Layer)}
        columns = own or nn.one_hot.placed(layers)
        ends = np.cumsum([int(table.dim) for table in self.tables])
        places = {}
        for path, span in columns.items():
            number = int(np.searchsorted(ends, span.start, side="right"))
            first = int(ends[number]) - int(self.tables[number].dim)
            places[f"{path}.weight"] = number, slice(span.start - first, span.stop - first)
        return places

    def whole(self, gradients: Mapping[Any, Any]) -> dict[str, Array]:
        """Return gradients of variables, and of tables by their numbers, by weight of the original.

        A gradient of a key that the input does not have makes all numbers NaN.
        """
        rows = self.schema.input.rows
        tables = {
            number: scatter(one.indices, one.values, rows, np.float32) if hasattr(one, "indices") else one
            for number, one in gradients.items()
            if number not in self.variables
        }
        return self._joined({name: one for name, one in gradients.items() if name in self.variables}, tables)

    def _joined(self, dense: Mapping[str, Array], tables: Mapping[int, Array]) -> dict[str, Array]:
        """Return what variables and tables have, as the weights of the original have it."""
        spec, joined = self.schema.input, {name: one for name, one in dense.items() if name not in self.places}
        for name, (number, columns) in self.places.items():
            if name in dense or number in tables:
                joined[name] = np.zeros(self.start[name].shape, np.float32)
                joined[name][list(spec.dense_columns)] = dense.get(name, 0.0)
                joined[name][list(spec.key_columns)] = tables[number][:, columns] if number in tables else 0.0
        return joined

    def feed(self, items: Batch) -> dict[tf.Tensor, Array]:
        """Return what is fed for a batch."""
        return {self.ids: items.ids, self.dense: items.dense, self.label: items.labels}

    def load(self, session: Any) -> None:
        """Set all variables, and the rows of the tables."""
        missing = sorted(set(self.start) ^ set(self.variables))
        if missing:
            where = self.path if missing[0] in self.start else "the original"
            raise MigrateError(
                f"{where}: has no parameter `{missing[0]}`, so the two files do not match; convert the file again"
            )
        spec = self.schema.input
        for name, variable in self.variables.items():
            value = self.start[name]
            variable.load(value[list(spec.dense_columns)] if name in self.places else value, session)
        session.run(self._resets)
        for number, weight in enumerate(self.rows):
            rows = np.zeros([spec.rows, weight.table.dim], np.float32)
            for name, (own, columns) in self.places.items():
                if own == number:
                    rows[:, columns] = self.start[name][list(spec.key_columns)]
            write_rows(weight, rows, session)

    def values(self, session: Any) -> dict[str, Array]:
        """Return the weights of the original; a table must have no keys but those of rows."""
        count = self.schema.input.rows
        dense, known = session.run((self.variables, self._keys))
        for keys in known:
            if keys.size and not np.array_equal(np.sort(keys), np.arange(count)):
                raise MigrateError(
                    f"the table has keys that the model's input does not have, up to {keys.max()}; convert the file "
                    "again"
                )
        return self._joined(dense, dict(enumerate(read_rows(weight, count, session) for weight in self.rows)))

    def distributions(self, session: Any) -> dict[str, Any]:
        """Return the distributions of initial values; of a weight in two parts, that which is not the original's."""
        by_name: dict[str, Any] = {n: variable_distribution(session.run, one) for n, one in self.variables.items()}
        texts = [table_distribution(table) for table in self.tables]
        for name, (number, columns) in self.places.items():
            of_table, own = distribution_at(texts[number], columns.start), self.drawn.get(name)
            if own is not None and not (self.schema.input.dense_size and differ(own, by_name[name])):
                by_name[name] = of_table
        return by_name


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Measure the same as `original.run`, with the same weights and batches."""
    with facade(job["path"]):
        side, recording = ran(Converted, job)
    return {"recording": recording, "tables": {n: side.tables[at].table_name for n, (at, _) in side.places.items()}}


#: Module that converted code imports -> the façade of the runtime that has it.
_FACADES = {"mx_rec": "mx_rec", "sparse_operation_kit": "sok"}


class Dense(Parameter):
    """A variable, as an optimizer of `runtime.nn` takes it."""

    def __init__(self, variable: Any) -> None:
        """Take the variable."""
        super().__init__(variable.shape.as_list(), None, variable.dtype.base_dtype)
        self._variable = variable


class Rows(TableWeight):
    """A table, as an optimizer of `runtime.nn` takes it."""

    def __init__(self, table: Any) -> None:
        """Take the table."""
        super().__init__([1, table.dim], None)
        self._table = table


@contextlib.contextmanager
def facade(path: str) -> Iterator[None]:
    """Let a converted module find the SDK that it calls, as the runtime has it."""
    name = _facade_of(path)
    if not name:
        yield
        return
    package = importlib.import_module(f"runtime.compat.{name}")
    package.install()
    try:
        if name == "mx_rec":
            importlib.import_module("mx_rec.util.initialize").init(use_dynamic=True)
        yield
    finally:
        package.uninstall()


def _facade_of(path: str) -> str:
    try:
        tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        raise MigrateError(f"{path}: cannot be read ({error}); give the converted file") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "get_embedding_variable":
            return "deeprec"
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        modules += [item.name for item in node.names] if isinstance(node, ast.Import) else []
        for module in modules:
            if target := _FACADES.get(module.partition(".")[0]):
                return target
    return ""
