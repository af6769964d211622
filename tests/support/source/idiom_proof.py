"""Runs an example of `idioms/` before and after its conversion and measures how far the two are apart."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tensorflow

from migrate.verify.compare import scatter
from migrate.verify.tensorflow.matching import match_tables
from runtime.lookup.whole_table import spelled_out, written_out
from tests.support.source.idiom_runner import STEPS, batch

tf = tensorflow.compat.v1
PART = re.compile(r"(.*)/part_(\d+)$")


@dataclass
class Measured:
    """What a program showed: outputs and gradients of each batch before any step, then losses, then the rows."""

    outputs: list[Any] = field(default_factory=list)
    losses: list[Any] = field(default_factory=list)
    gradients: list[dict[str, Any]] = field(default_factory=list)
    start: dict[str, Any] = field(default_factory=dict)
    end: dict[str, Any] = field(default_factory=dict)
    untrained: set[str] = field(default_factory=set)  #: variables that no step changes

    def apart(self, other: Measured) -> dict[str, float]:
        """Return the greatest relative difference of each kind of tensor; raises where names or shapes differ."""
        assert self.end.keys() == other.end.keys()
        assert all(a.keys() == b.keys() for a, b in zip(self.gradients, other.gradients, strict=True))
        grouped = {
            "outputs": list(zip(self.outputs, other.outputs, strict=True)),
            "losses": [(np.array(self.losses), np.array(other.losses))],
            "gradients": [(a[k], b[k]) for a, b in zip(self.gradients, other.gradients, strict=True) for k in a],
            "rows after training": [(self.end[k], other.end[k]) for k in self.end],
        }
        return {kind: max(_apart(a, b) for a, b in pairs) for kind, pairs in grouped.items()}


def _apart(first: Any, second: Any) -> float:
    first, second = np.asarray(first, np.float64), np.asarray(second, np.float64)
    assert first.shape == second.shape, f"shape {first.shape} became {second.shape}"
    scale = np.abs(first).max()
    return float(np.abs(first - second).max() / scale) if scale else float(np.abs(second).max())


def feeds(step: int, every_row: bool) -> dict[str, Any]:
    """Return a seeded batch by the names that a program's `build` may ask for."""
    random = np.random.RandomState(100 + step)
    found = batch(step) | {
        "words": np.array([["a", "b", "c", "d", "e"][i] for i in random.randint(5, size=6)]),
        "label": random.randint(2, size=6).astype(np.float32),
    }
    found["wide"] = tf.SparseTensorValue(found["wide"].indices, found["wide"].values, [6, 20])
    if every_row:
        pairs = np.append(random.permutation(20), 0).reshape(7, 3)
        found |= {"ids": random.permutation(20), "pairs": pairs, "label": random.randint(2, size=7).astype(np.float32)}
    return found


_PLACEHOLDERS = {
    "ids": lambda: tf.placeholder(tf.int64, [None]),
    "pairs": lambda: tf.placeholder(tf.int32, [None, 3]),
    "sparse": lambda: tf.sparse_placeholder(tf.int64, [None, 5]),
    "weights": lambda: tf.sparse_placeholder(tf.float32, [None, 5]),
    "wide": lambda: tf.sparse_placeholder(tf.float32, [6, 20]),
    "words": lambda: tf.placeholder(tf.string, [None]),
    "label": lambda: tf.placeholder(tf.float32, [None]),
}


@contextmanager
def _imported(files: Mapping[str, str], directory: Path, main: str) -> Iterator[Any]:
    """Import a program whose files are written into a directory of their own; forget its modules afterwards."""
    for name, text in files.items():
        (directory / name).write_text(text, encoding="utf-8")
    known = set(sys.modules)
    sys.path.insert(0, str(directory))
    importlib.invalidate_caches()
    try:
        yield importlib.import_module(main.removesuffix(".py"))
    finally:
        sys.path.remove(str(directory))
        for name in [n for n in sys.modules if n not in known and f"{n}.py" in files]:
            del sys.modules[name]


def measured(
    files: Mapping[str, str],
    directory: Path,
    main: str,
    *,
    every_row: bool,
    by_parts: set[str],
    like: Measured | None = None,
) -> Measured:
    """Run a program for three steps; `like` is the original, whose initial values it then starts from.

    `by_parts` names the partitioned variables whose ids go round the parts.
    """
    batches = [feeds(step, every_row) for step in range(STEPS)]
    if "model.compile(" in files[main]:
        with _imported(files, directory, main) as module:
            return _Keras(module.model, like).run(batches)
    with tf.Graph().as_default(), tf.Session() as session, _imported(files, directory, main) as module:
        tf.set_random_seed(7)
        return _Graph(module, session, by_parts, like).run(batches)


class _Graph:
    """A v1 program in its session."""

    def __init__(self, module: Any, session: Any, by_parts: set[str], like: Measured | None) -> None:
        from runtime.table.create import tables

        self.session, self.by_parts = session, by_parts
        asked = [one.name for one in inspect.signature(module.build).parameters.values() if one.default is one.empty]
        self.given = {name: _PLACEHOLDERS[name]() for name in asked}
        self.out, self.loss, self.train_op = module.build(**self.given)
        self.variables = {v.op.name: v for v in tf.trainable_variables()}
        known = [v for v in tf.global_variables() if v.op.name == "table" and not v.trainable]
        self.untrained = {v.op.name: v for v in known if v.shape.num_elements()}
        self.variables |= self.untrained
        made = {table.table_name: table for table in tables()}
        trained = {name: v.shape for name, v in like.start.items()} if like else {}
        self.table_of: dict[str, Any] = {}
        if like:
            dims = {name: table.dim for name, table in made.items()}
            matched = match_tables("model.py", dims, trained, set(self.variables))
            self.table_of = {source: made[name] for name, source in matched.items()}
        self.shapes = trained
        wanted = {**self.variables, **{name: table.variable for name, table in self.table_of.items()}}
        wanted = {name: one for name, one in wanted.items() if name not in self.untrained}
        found = tf.gradients(self.loss, list(wanted.values()))
        self.gradients = {name: g for name, g in zip(wanted, found, strict=True) if g is not None}
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        if like:
            self._start(like.start)

    def _start(self, start: Mapping[str, Any]) -> None:
        for name, value in start.items():
            if name in self.table_of:
                rows = value.reshape(len(value), -1)
                self.session.run(self.table_of[name].import_rows(np.arange(len(rows), dtype=np.int64), rows))
            else:
                self.variables[name].load(value, self.session)

    def run(self, batches: list[dict[str, Any]]) -> Measured:
        """Measure every batch, then train on each."""
        result = Measured(start=self._whole(self.session.run(self.variables)), untrained=set(self.untrained))
        fed = [{self.given[name]: one[name] for name in self.given} for one in batches]
        for feed in fed:
            out, gradients = self.session.run((self.out, self.gradients), feed)
            result.outputs.append(out)
            result.gradients.append(self._whole({n: self._dense(n, g) for n, g in gradients.items()}))
        for feed in fed:
            result.losses.append(self.session.run([self.loss, self.train_op], feed)[0])
        result.end = self._whole(self.session.run(self.variables) | self._rows())
        return result

    def _rows(self) -> dict[str, Any]:
        found = {}
        for name, table in self.table_of.items():
            keys, values = self.session.run(table.snapshot())[:2]
            rows = np.full((self.shapes[name][0], values.shape[1]), np.nan, np.float32)
            rows[keys] = values
            found[name] = rows.reshape(self.shapes[name])
        return found

    def _dense(self, name: str, gradient: Any) -> Any:
        if not hasattr(gradient, "indices"):
            return gradient
        shape = self.shapes.get(name) or tuple(self.variables[name].shape.as_list())
        keys, values = gradient.indices, gradient.values.reshape(len(gradient.indices), -1)
        if name in self.table_of:
            keys, values = spelled_out(keys, values, *self.session.run(self.table_of[name].snapshot())[:2])
        return scatter(keys, values, shape[0]).reshape(shape)

    def _whole(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Put the parts of partitioned variables together in the order of their ids."""
        result, parts = {}, {}
        for name, value in values.items():
            found = PART.match(name)
            if found:
                parts.setdefault(found[1], {})[int(found[2])] = value
            else:
                result[name] = value
        for name, found in parts.items():
            ordered = [found[i] for i in sorted(found)]
            whole = np.concatenate(ordered)
            if name in self.by_parts:
                starts = np.cumsum([0, *(len(part) for part in ordered)])
                whole = whole[[starts[i % len(ordered)] + i // len(ordered) for i in range(len(whole))]]
            result[name] = whole
        return result


class _Keras:
    """A compiled Keras model of `pairs`."""

    def __init__(self, model: Any, like: Measured | None) -> None:
        self.model, self.like = model, like
        model(feeds(0, False)["pairs"])
        self.tables = {layer.name: layer for layer in model._flatten_layers() if hasattr(layer, "input_dim")}
        anchors = [id(v) for layer in self.tables.values() for v in layer.weights]
        self.dense = [v for v in model.trainable_variables if id(v) not in anchors]
        for name, layer in self.tables.items() if like else ():
            layer.table.import_rows(np.arange(len(like.start[name])), like.start[name])
        for at, variable in enumerate(self.dense if like else ()):
            variable.assign(like.start[f"dense {at}"])

    def run(self, batches: list[dict[str, Any]]) -> Measured:
        """Measure every batch, then train on each."""
        result = Measured(start=self._values())
        for one in batches:
            result.outputs.append(self.model(one["pairs"]).numpy())
            result.gradients.append(self._gradients(one))
        for one in batches:
            found = self.model.train_on_batch(one["pairs"], one["label"][:, None])
            result.losses.append(float(np.ravel(found)[0]))
        result.end = self._values()
        return result

    def _gradients(self, one: Mapping[str, Any]) -> dict[str, Any]:
        names = {id(v): name for name, layer in self.tables.items() for v in layer.trainable_weights}
        names |= {id(v): f"dense {at}" for at, v in enumerate(self.dense)}
        variables = self.model.trainable_variables
        with tensorflow.GradientTape() as tape:
            error = self.model(one["pairs"], training=True) - one["label"][:, None]
            loss = tensorflow.reduce_mean(error**2) + sum(self.model.losses)
        found = {names[id(v)]: g for v, g in zip(variables, tape.gradient(loss, variables), strict=True)}
        return {name: self._dense(name, gradient) for name, gradient in found.items()}

    def _dense(self, name: str, gradient: Any) -> Any:
        if not isinstance(gradient, tensorflow.IndexedSlices):
            return gradient.numpy()
        layer = self.tables[name]
        if getattr(layer, "table", None) is not None and layer.table.has_terms:
            gradient = written_out(layer.table, gradient)
        return scatter(gradient.indices.numpy(), gradient.values.numpy(), layer.input_dim)

    def _values(self) -> dict[str, Any]:
        found = {f"dense {at}": variable.numpy() for at, variable in enumerate(self.dense)}
        for name, layer in self.tables.items():
            if hasattr(layer, "embeddings"):
                found[name] = layer.embeddings.numpy()
            else:
                keys, values = (part.numpy() for part in layer.table.snapshot()[:2])
                found[name] = np.full((layer.input_dim, values.shape[1]), np.nan, np.float32)
                found[name][keys] = values
        return found
