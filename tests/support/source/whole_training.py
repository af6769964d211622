"""A program and what it is converted to, trained by TensorFlow from the same values: losses, variables, rows, slots."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

tf = pytest.importorskip("tensorflow").compat.v1

Array = NDArray[Any]


@dataclass
class Side:
    """A program in a session of its own: `build_model()` returns `loss`, `train_op` and the placeholders to feed."""

    text: str
    tables: Mapping[str, str]  #: table -> the variable in whose place it is; empty for the original
    losses: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Build the program and run its initializers."""
        from runtime.table.create import tables

        self.session = tf.Session(graph=tf.Graph())
        with self.session.graph.as_default():
            tf.set_random_seed(1)
            space: dict[str, Any] = {"__name__": "model"}
            exec(compile(self.text, "model.py", "exec"), space)
            self.built = space["build_model"]()
            made = {table.table_name: table for table in tables()}
            assert set(made) == set(self.tables)
            self.of = {source: made[name] for name, source in self.tables.items()}
            self.snapshots = {source: table.snapshot() for source, table in self.of.items()}
            anchors = [table.variable for table in made.values()]
            self.variables = {v.op.name: v for v in tf.global_variables() if not any(v is one for one in anchors)}
            self.saver = tf.train.Saver()
            self.session.run(tf.global_variables_initializer())

    def train(self, batches: Sequence[Mapping[str, Any]]) -> None:
        """Take a step on each batch, and note its loss."""
        for batch in batches:
            feed = {self.built[name]: value for name, value in batch.items()}
            self.losses.append(float(self.session.run([self.built["loss"], self.built["train_op"]], feed)[0]))

    def start_as(self, other: Side) -> None:
        """Take the values of the original's variables."""
        values = other.values()
        with self.session.graph.as_default():
            for name in values.keys() & self.variables.keys():
                self.variables[name].load(values[name], self.session)
            for source, table in self.of.items():
                rows = values[source].reshape(len(values[source]), -1)
                self.session.run(table.import_rows(np.arange(len(rows), dtype=np.int64), rows))

    def values(self) -> dict[str, Array]:
        """Return the values of variables by name, of tables as their variables' and the slots of each as one matrix."""
        found = dict(self.session.run(self.variables))
        for source, (keys, rows, slots, _) in self.session.run(self.snapshots).items():
            order = np.argsort(keys)
            assert list(keys[order]) == list(range(len(keys)))
            found[source], found[f"{source} slots"] = rows[order], slots[order]
        return found

    def restart(self, directory: Path) -> Side:
        """Save a checkpoint and return the program in a new session that has restored it."""
        with self.session.graph.as_default():
            directory.mkdir(parents=True, exist_ok=True)
            path = self.saver.save(self.session, str(directory / "saved"))
        fresh = Side(self.text, self.tables, self.losses)
        with fresh.session.graph.as_default():
            fresh.saver.restore(fresh.session, path)
        return fresh


def apart(original: Side, converted: Side) -> dict[str, float]:
    """Return how far values are apart, relative to the largest of each: losses, variables, rows and slots."""
    want, got = original.values(), converted.values()
    found = {"losses": _relative(np.array(converted.losses), np.array(original.losses))}
    for name in got:
        if name.endswith(" slots"):
            found[name] = _of_slots(want, name.removesuffix(" slots"), got[name])
        elif name in want:  # a second Adam has counters of its own
            found[name] = _relative(got[name].reshape(want[name].shape), want[name])
    return found


def _of_slots(want: Mapping[str, Array], source: str, got: Array) -> float:
    """Return how far a table's slots are from those of its variable, whose names do not say their order."""
    kept = [want[name].reshape(len(got), -1) for name in want if name.startswith(f"{source}/")]
    assert sum(slot.shape[1] for slot in kept) == got.shape[1]
    orders = itertools.permutations(kept)
    return min((_relative(got, np.concatenate(order, 1)) for order in orders if order), default=0.0)


def _relative(got: Array, want: Array) -> float:
    assert got.shape == want.shape
    return float(np.abs(got - want).max(initial=0.0) / max(float(np.abs(want).max(initial=0.0)), 1e-30))
