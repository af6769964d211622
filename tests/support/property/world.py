"""One graph with everything that can be done to a table, built once and run by many sequences of operations."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import runtime
from runtime import checkpoint, native
from runtime.initializers import column_blocks, initializer_text
from tests.support.property.oracle import Oracle, same
from tests.support.property.rules import RULES

v1 = tf.compat.v1


def initializer(dim: int) -> Any:
    """Return a different law for the columns of each quarter of a row."""
    laws = [
        v1.random_normal_initializer(0.5, 2.0, seed=3),
        v1.random_uniform_initializer(-1.0, 1.0),
        v1.truncated_normal_initializer(0.0, 0.5),
        v1.constant_initializer(0.25),
    ]
    edges = np.linspace(0, dim, len(laws) + 1).astype(int)
    widths = np.diff(edges) if dim >= len(laws) else np.ones(dim, int)
    return column_blocks(list(zip(widths.tolist(), laws, strict=False)))


class World:
    """A table `t`, trained by one rule, and the placeholders and ops that drive it."""

    def __init__(self, dim: int, rule: str) -> None:
        """Build the graph."""
        self.dim, self.rule = dim, RULES[rule]
        law = initializer(dim)
        with tf.Graph().as_default() as self.graph:
            self.table = runtime.create_table(tf.int64, dim, "t", law)
            self.ids, self.narrow = v1.placeholder(tf.int64, [None, None]), v1.placeholder(tf.int32, [None])
            self.keys, self.values = v1.placeholder(tf.int64, [None]), v1.placeholder(tf.float32, [None, dim])
            self.factors, self.rate = v1.placeholder(tf.float32, [None, None, dim]), v1.placeholder(tf.float32, [])
            self.step_ids = v1.placeholder(tf.int64, [None, None])
            self.splits = v1.placeholder(tf.int64, [None])
            self._build()
            self.saver = v1.train.Saver(max_to_keep=None)
            self.incremental = checkpoint.IncrementalSaver(full_every=4, max_to_keep=0)
            self.start = v1.global_variables_initializer()
            self.graph.finalize()
        self.initializer = initializer_text(law, 1, dim)

    def _build(self) -> None:
        table, optimizer = self.table, self.rule.make(self.rate)
        self.trained = runtime.sparse_lookup(table, self.ids)
        self.read = runtime.sparse_lookup(table, self.ids, is_train=False)
        self.read_narrow = runtime.sparse_lookup(table, self.narrow, is_train=False)
        self.updated = optimizer.apply_gradients([(tf.IndexedSlices(self.values, self.keys), table.variable)])
        self.step_rows = runtime.sparse_lookup(table, self.step_ids)
        self.stepped = optimizer.minimize(tf.reduce_sum(self.step_rows * self.factors))
        bags = tf.RaggedTensor.from_row_splits(self.keys, self.splits, validate=False)
        self.pooled_read = self._pooled(bags, is_train=False)
        self.pooled_rows = self._pooled(bags)
        self.pooled_step = optimizer.minimize(tf.reduce_sum(self.pooled_rows * self.values))
        self.both = runtime.grouped_lookup([(table, self.keys), (table, self.ids)])
        self.removed = native.ops().rec_table_remove(table.handle, self.keys)
        self.imported = table.import_rows(self.keys, self.values)
        self.snapshot, self.size = table.snapshot(), table.size()
        self.reset = table.variable.initializer

    def _pooled(self, bags: tf.RaggedTensor, is_train: bool = True) -> tf.Tensor:
        return runtime.embedding_lookup_sparse(self.table, bags, None, "sum", is_train=is_train, negative_keys=True)

    def oracle(self) -> Oracle:
        """Return what the table holds after `start`."""
        return Oracle(self.initializer, self.table.seed, self.dim, self.rule)


class Driver:
    """Runs operations on a session and on the oracle alike, and compares what they give, bit by bit."""

    def __init__(self, world: World, session: Any) -> None:
        """Empty the table and the optimizer."""
        self.world, self.session, self.oracle = world, session, world.oracle()
        session.run(world.start)

    def look_up(self, keys: Sequence[int], insert: bool, columns: int = 1) -> np.ndarray:
        """Look keys up."""
        if insert:
            self.oracle.insert(keys)
        fetched = self.world.trained if insert else self.world.read
        rows = self.session.run(fetched, {self.world.ids: shaped(keys, columns)})
        same(self.oracle.read(keys), rows.reshape(-1, self.world.dim))
        return np.asarray(rows)

    def read_narrow(self, keys: Sequence[int]) -> None:
        """Read by int32 keys."""
        rows = self.session.run(self.world.read_narrow, {self.world.narrow: np.array(keys, np.int32)})
        same(self.oracle.read(keys), rows)

    def update(self, keys: Sequence[int], gradients: np.ndarray, rate: float) -> None:
        """Apply gradients that no look-up made."""
        world = self.world
        feed = {world.keys: np.array(keys, np.int64), world.values: gradients, world.rate: rate}
        self.session.run(world.updated, feed)
        self.oracle.update(keys, gradients, rate)

    def step(self, keys: Sequence[int], gradients: np.ndarray, rate: float, columns: int = 1) -> np.ndarray:
        """Look up, differentiate and update in one run: the rows are those before the update."""
        world, ids = self.world, shaped(keys, columns)
        feed = {world.step_ids: ids, world.factors: gradients.reshape(*ids.shape, world.dim), world.rate: rate}
        rows, _ = self.session.run([world.step_rows, world.stepped], feed)
        self.oracle.insert(keys)
        same(self.oracle.read(keys), rows.reshape(-1, world.dim))
        self.oracle.update(keys, gradients, rate)
        return np.asarray(rows)

    def grouped(self, keys: Sequence[int], others: Sequence[int]) -> None:
        """Look two batches up at once."""
        feed = {self.world.keys: np.array(keys, np.int64), self.world.ids: shaped(others, 2)}
        for one, rows in zip((keys, others), self.session.run(self.world.both, feed), strict=True):
            self.oracle.insert(one)
            same(self.oracle.read(one), rows.reshape(-1, self.world.dim))

    def pool(self, keys: Sequence[int], splits: Sequence[int], gradients: np.ndarray | None, rate: float) -> None:
        """Sum rows per bag, and train through the sums if there are gradients [bags, dim]."""
        world = self.world
        feed = {world.keys: np.array(keys, np.int64), world.splits: np.array(splits, np.int64)}
        if gradients is None:
            pooled = self.session.run(world.pooled_read, feed)
        else:
            feed |= {world.values: gradients, world.rate: rate}
            pooled, _ = self.session.run([world.pooled_rows, world.pooled_step], feed)
            self.oracle.insert(keys)
        rows = self.oracle.read(keys)
        sums = [segment_sum(rows[a:b]) for a, b in itertools.pairwise(splits)]
        np.testing.assert_array_equal(pooled, np.array(sums, np.float32))
        if gradients is not None:
            self.oracle.update(keys, np.repeat(gradients, np.diff(splits), axis=0), rate)

    def remove(self, keys: Sequence[int]) -> None:
        """Remove rows."""
        self.session.run(self.world.removed, {self.world.keys: np.array(keys, np.int64)})
        self.oracle.remove(keys)

    def import_rows(self, keys: Sequence[int], values: np.ndarray) -> None:
        """Insert or overwrite."""
        self.session.run(self.world.imported, {self.world.keys: np.array(keys, np.int64), self.world.values: values})
        self.oracle.overwrite(keys, values)

    def reset(self) -> None:
        """Empty the table."""
        self.session.run(self.world.reset)
        self.oracle.reset()

    def save(self, folder: str, number: int, increment: bool) -> tuple[str, Oracle]:
        """Save a checkpoint, whole or what changed since the one before; return its path and what it holds."""
        world, path = self.world, f"{folder}/{'steps' if increment else 'whole'}"
        with world.graph.as_default():  # elsewhere a Saver looks for eager variables
            saver = world.incremental if increment else world.saver
            path = saver.save(self.session, path, number, write_meta_graph=False, write_state=False)
        return str(path), self.oracle.copy()

    def restore(self, saved: tuple[str, Oracle], session: Any = None) -> None:
        """Restore a checkpoint into this session or go on in another."""
        self.session = session or self.session
        with self.world.graph.as_default():
            saver = self.world.incremental if Path(saved[0]).name.startswith("steps") else self.world.saver
            saver.restore(self.session, saved[0])
        self.oracle = saved[1].copy()

    def check(self) -> tuple[np.ndarray, ...]:
        """Compare the whole table."""
        expected = self.oracle.sorted()
        (keys, values, slots, meta), size = self.session.run([self.world.snapshot, self.world.size])
        order = np.argsort(keys)
        got = keys[order], values[order], slots[order]
        assert size == len(expected[0])
        same(expected[0], got[0])
        same(expected[1], got[1])
        if got[2].shape[1] or self.oracle.has_slots:
            same(expected[2], got[2])
        assert meta[1:3].tolist() == [self.world.table.seed, self.world.dim]
        return got


@functools.cache
def world(dim: int, rule: str) -> World:
    """Return the world of a width and an optimizer, built on first use."""
    return World(dim, rule)


def segment_sum(rows: np.ndarray) -> np.ndarray:
    """Add rows in the order of TensorFlow's sparse segment sums: the odd ones first, then eight at a time."""
    count = len(rows)
    first = count if count < 8 else 8 + count % 8 if count % 8 < 2 else count % 8
    pieces = [rows[:first], *np.split(rows[first:], range(8, count - first, 8))]
    sums = [np.add.accumulate(piece)[-1:] for piece in pieces]  # accumulate adds one after another, reduce does not
    return np.add.accumulate(np.concatenate(sums))[-1] if count else np.zeros(rows.shape[1], np.float32)


def shaped(keys: Sequence[int], columns: int) -> np.ndarray:
    """Return keys as int64 [n / columns, columns], in one column when they do not fit."""
    columns = columns if len(keys) % columns == 0 else 1
    return np.array(keys, np.int64).reshape(-1, columns)
