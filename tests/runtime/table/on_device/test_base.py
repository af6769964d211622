"""Tables with a base whose rows lie on a device, beside tables of the host: the bits of memory alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad, ftrl, gradient_descent, lazy_adam, momentum, rmsprop
from tests.support.runtime.tables import make_table

v1 = tf.compat.v1
BUCKETS = 8
EVERY = np.arange(-40, 60)
MATRIX = np.random.default_rng(7).normal(size=[BUCKETS, 4]).astype(np.float32)
OPTIMIZERS = {
    "sgd": lambda: gradient_descent.create_hash_optimizer(0.1),
    "adagrad": lambda: adagrad.create_hash_optimizer(0.1, 0.1),
    "lazy_adam": lambda: lazy_adam.create_hash_optimizer(0.01),
    "momentum": lambda: momentum.create_hash_optimizer(0.01, 0.9),
    "rmsprop": lambda: rmsprop.create_hash_optimizer(0.01),
    "ftrl": lambda: ftrl.create_hash_optimizer(0.05, initial_accumulator_value=0.1),
}


class Pair:
    """A table with rows on a device and one without, which begin as the buckets of a trained table."""

    def __init__(self, optimizer: str, **lookup: Any) -> None:
        self.ids = v1.placeholder(tf.int64, [None])
        self.bucketed = make_table("bucketed")
        device, start = runtime.Device(name="/cpu:0", policy="lru"), v1.constant_initializer(0.25)
        self.tables = [
            make_table("device", 4, start, base_buckets=BUCKETS, device=device, device_vocabulary_size=16),
            make_table("host", 4, start, base_buckets=BUCKETS),
        ]
        every = [self.bucketed, *self.tables]
        rows = [runtime.sparse_lookup(table, self.ids, **lookup) for table in every]
        losses = [tf.reduce_sum(tf.sin(one)) for one in rows]
        self.steps = [
            OPTIMIZERS[optimizer]().minimize(loss, var_list=[table.variable])
            for loss, table in zip(losses, every, strict=True)
        ]
        self.rows = rows[1:]
        self.read = [runtime.sparse_lookup(table, self.ids, is_train=False) for table in every]
        self.begun = [runtime.set_base(table, self.bucketed) for table in self.tables]
        self.over = [runtime.set_base(table, MATRIX) for table in self.tables]
        self.forgotten = [runtime.forget_base(table) for table in self.tables]
        self.snapshots = [table.snapshot() for table in self.tables]
        self.sizes = [table.size() for table in self.tables]

    def begin(self, session: Any) -> Any:
        """Train the table of buckets, and let both begin as it; return what every id reads."""
        session.run(v1.global_variables_initializer())
        for batch in batches(6, 0):
            session.run(self.steps[0], {self.ids: batch % BUCKETS})
        session.run(self.begun)
        return session.run(self.read[0], {self.ids: EVERY % BUCKETS})

    def compare(self, session: Any) -> Any:
        """Require equal bits of all ids, and of what a checkpoint holds; return the rows."""
        rows = session.run(self.read[1:], {self.ids: EVERY})
        np.testing.assert_array_equal(*rows)
        for one, other in zip(*map(_by_key, session.run(self.snapshots)), strict=True):
            np.testing.assert_array_equal(one, other)
        return rows[0]


def _by_key(snapshot: Any) -> list[Any]:
    keys, values, slots, meta = snapshot
    order = np.argsort(keys)
    return [keys[order], values[order], slots[order], meta[2:]]  # without the seed


def batches(count: int, seed: int) -> Any:
    random = np.random.default_rng(seed)
    return [random.integers(-10, 40, 6) for _ in range(count)]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.one_case
def test_ids_begin_as_their_buckets_and_part(graph: tf.Graph, optimizer: str, tmp_path: Path) -> None:
    pair = Pair(optimizer)
    saver = v1.train.Saver()
    with v1.Session() as session:
        before = pair.begin(session)
        np.testing.assert_array_equal(pair.compare(session), before)
        assert session.run(pair.sizes) == [0, 0]
        for number, batch in enumerate(batches(40, 1)):
            *rows, _, _ = session.run([*pair.rows, *pair.steps[1:]], {pair.ids: batch})
            np.testing.assert_array_equal(*rows)
            if number == 20:
                pair.compare(session)
        path, after = saver.save(session, str(tmp_path / "saved")), pair.compare(session)
        assert len(np.unique(after, axis=0)) > BUCKETS
        # Rows that were changed on the device survive what changes the base, and whoever has none follows it.
        for change in (pair.over, pair.forgotten):
            session.run(pair.steps[1:], {pair.ids: EVERY[:6]})
            kept = pair.compare(session)
            session.run(change)
            now = pair.compare(session)
            own = np.isin(EVERY, session.run(pair.snapshots)[1][0])
            np.testing.assert_array_equal(now[own], kept[own])
            if change is pair.over:
                np.testing.assert_array_equal(now[~own], MATRIX[EVERY[~own] % BUCKETS])
        saver.restore(session, path)
        np.testing.assert_array_equal(pair.compare(session), after)


def test_ids_that_wait_read_their_buckets(graph: tf.Graph) -> None:
    pair = Pair("adagrad", access_and_evict_config={"access_threshold": 3})
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        session.run(pair.over)
        for batch in batches(30, 3):
            *rows, _, _ = session.run([*pair.rows, *pair.steps[1:]], {pair.ids: batch})
            np.testing.assert_array_equal(*rows)
        pair.compare(session)
        assert 0 < session.run(pair.sizes)[0] < 50
