"""Rows of a table without buckets, and its base, against dicts: some go while it trains, or many threads train it."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.native.base_keys import FIRST_BASE_KEY, are_base_keys
from runtime.optimizers import gradient_descent
from tests.support.runtime.row_dicts import RULES, RowDicts
from tests.support.runtime.tables import make_table

v1 = tf.compat.v1
BUCKETS, DIM, BATCH, AGE = 8, 4, 10, 4
EVERY = np.arange(-40, 60)
MATRICES = np.random.default_rng(7).normal(size=[2, BUCKETS, DIM]).astype(np.float32)
FEW_BYTES = 9_700  #: which 20 rows of Adagrad beside the base take
HELD: dict[str, Callable[[Path], dict[str, Any]]] = {
    "memory": lambda folder: {},
    "max_bytes": lambda folder: {"max_bytes": FEW_BYTES, "when_full": "evict"},
    "log": lambda folder: {"storage": runtime.Storage("dram_ssdhash", str(folder), [300])},
    "mapped and log": lambda folder: {"storage": runtime.Storage("dram_pmem_ssdhash", str(folder), [300, 300])},
}


def initial_rows() -> Any:
    """Return the rows that ids have without a base."""
    with tf.Graph().as_default(), v1.Session() as session:
        rows = runtime.sparse_lookup(make_table(), EVERY, is_train=False)
        session.run(v1.global_variables_initializer())
        return session.run(rows)


class Trained:
    """A table in a graph beside dicts, and what happens to both."""

    def __init__(self, rule: str, **options: Any) -> None:
        self.ids, self.factors = v1.placeholder(tf.int64, [None]), v1.placeholder(tf.float32, [None, DIM])
        self.time = v1.placeholder(tf.int64, [])
        v1.add_to_collection("ASCEND_TIMESTAMP", self.time)
        self.table = make_table(base_buckets=BUCKETS, **options)
        config = {"access_threshold": 0, "eviction_threshold": AGE}
        self.rows = runtime.sparse_lookup(self.table, self.ids, access_and_evict_config=config)
        loss = tf.reduce_sum(self.rows * self.factors) + tf.reduce_sum(self.rows**2) / 20
        step = v1.train.get_or_create_global_step()
        self.update = RULES[rule].make(step).minimize(loss, global_step=step, var_list=[self.table.variable])
        self.read = runtime.sparse_lookup(self.table, EVERY, is_train=False)
        self.snapshot = self.table.snapshot()
        self.evict = runtime.evict_by_age(self.table, now=self.time)
        self.forget = runtime.forget_base(self.table)
        self.begin = [runtime.set_base(self.table, matrix) for matrix in MATRICES]
        self.session = v1.Session()
        self.session.run(v1.global_variables_initializer())
        self.session.run(self.begin[0])
        self.dicts = RowDicts(RULES[rule], MATRICES[0], dict(zip(EVERY.tolist(), initial_rows(), strict=True)))
        self.seen: dict[int, int] = {}
        self.displaced = 0  # by a full table
        self.random = np.random.default_rng(3)

    def batch(self) -> tuple[Any, Any]:
        """Return ids, a few of them often, and what their rows are multiplied by."""
        ids = np.minimum(self.random.zipf(1.3, BATCH), 70) * 17 % len(EVERY) + EVERY[0]
        return ids, self.random.normal(size=[BATCH, DIM]).astype(np.float32)

    def keys(self) -> set[int]:
        """Return the ids that have a row of their own."""
        keys = self.session.run(self.snapshot[0])
        return set(keys[~are_base_keys(keys)].tolist())

    def step(self, time: int) -> None:
        """Take a step."""
        ids, factors = self.batch()
        rows, _ = self.session.run([self.rows, self.update], self.feed(ids, factors, time))
        self.follow(ids, factors, rows, time)

    def feed(self, ids: Any, factors: Any, time: int) -> dict[Any, Any]:
        return {self.ids: ids, self.factors: factors, self.time: time}

    def follow(self, ids: Any, factors: Any, rows: Any, time: int) -> None:
        """Take the step in the dicts; what a full table evicts for a batch is none of it."""
        gone = set(self.dicts.own) - self.keys()
        assert not gone & set(ids.tolist())
        self.displaced += len(gone)
        self.dicts.evict(gone)
        self.dicts.look(ids)
        np.testing.assert_allclose(rows, self.dicts.values(ids), rtol=2e-4, atol=2e-5)
        self.seen |= dict.fromkeys(ids.tolist(), time)
        gradients: dict[int, Any] = defaultdict(lambda: np.zeros(DIM))
        for key, factor, row in zip(ids.tolist(), factors, rows, strict=True):
            gradients[key] = gradients[key] + factor + row / 10.0
        self.dicts.step(gradients)

    def evict_old(self, time: int) -> None:
        """Evict what was not seen for long: the ids are those that the dicts say."""
        old = [key for key in self.dicts.own if time - self.seen[key] >= AGE]
        assert self.session.run(self.evict, {self.time: time}) == len(old)
        self.dicts.evict(old)

    def forget_base(self) -> None:
        self.session.run(self.forget)
        self.dicts.base = {}

    def compare(self) -> None:
        """Require that every id reads what the dicts have, and a checkpoint has all of it, slots included."""
        wanted = self.dicts.values(EVERY)
        if not self.dicts.base:  # an id without a row waits, as the table has a threshold
            wanted[[key not in self.dicts.own for key in EVERY.tolist()]] = 0
        np.testing.assert_allclose(self.session.run(self.read), wanted, rtol=2e-4, atol=2e-5)
        keys, values, slots, _ = self.session.run(self.snapshot)
        held = self.dicts.own | {bucket + FIRST_BASE_KEY: state for bucket, state in self.dicts.base.items()}
        assert sorted(keys.tolist()) == sorted(held)
        wanted = np.stack([np.concatenate(held[key]) for key in keys.tolist()])
        np.testing.assert_allclose(np.concatenate([values, slots], 1), wanted, rtol=2e-4, atol=2e-5)


CASES = [(rule, "memory") for rule in RULES] + [(rule, held) for held in [*HELD][1:] for rule in ("adagrad", "adam")]


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("steps", [60, pytest.param(1000, marks=pytest.mark.soak)])
@pytest.mark.parametrize(("rule", "held"), CASES)
@pytest.mark.one_case
def test_rows_and_base_go_while_it_trains(rule: str, held: str, steps: int, tmp_path: Path) -> None:
    trained = Trained(rule, **HELD[held](tmp_path))
    for time in range(steps):
        trained.step(time)
        if time % 3 == 2:
            trained.evict_old(time)
        if time == steps * 3 // 4:
            trained.forget_base()
        if time % (steps // 12) == 0:
            trained.compare()
    trained.compare()
    assert not trained.dicts.base and (trained.displaced > 3) == (held == "max_bytes")


class Elsewhere:
    """What another thread, with a session of its own, does to the table during a step."""

    def __init__(self, trained: Trained, name: str) -> None:
        self._trained, self._name = trained, name
        self._fetches = {"evict": trained.evict, "forget": trained.forget, "begin": trained.begin[1]}[name]

    def during_step(self, time: int) -> None:
        """Take a step meanwhile, and require of each id one of the states that it can have in between."""
        trained = self._trained
        ids, factors = trained.batch()
        thread = threading.Thread(target=self._run, args=[time, trained.random.random() * 1e-3])
        thread.start()
        rows, _ = trained.session.run([trained.rows, trained.update], trained.feed(ids, factors, time))
        thread.join()
        {"evict": self._evicted, "forget": self._begun_before_or_after, "begin": self._begun_before_or_after}[
            self._name
        ](ids, factors, rows, time)

    def _run(self, time: int, delay: float) -> None:
        threading.Event().wait(delay)
        self._trained.session.run(self._fetches, {self._trained.time: time})

    def _evicted(self, ids: Any, factors: Any, rows: Any, time: int) -> None:
        """An id of the batch is evicted before it is looked up, and begins anew, or it stays."""
        trained, dicts = self._trained, self._trained.dicts
        old = {key for key in dicts.own if time - trained.seen[key] >= AGE}
        for key, row in zip(ids.tolist(), rows, strict=True):
            if key in old and not np.allclose(row, dicts.own[key][0], rtol=2e-4, atol=2e-5):
                dicts.evict([key])
                old.remove(key)
        dicts.evict(old - set(ids.tolist()))
        assert trained.keys() <= set(dicts.own) | set(ids.tolist())
        trained.follow(ids, factors, rows, time)

    def _begun_before_or_after(self, ids: Any, factors: Any, rows: Any, time: int) -> None:
        """New ids of the batch all begin from the base of before or from that of after it."""
        trained, dicts = self._trained, self._trained.dicts
        before = dicts.base
        after = {} if self._name == "forget" else RowDicts(RULES["adagrad"], MATRICES[1], {}).base
        after = {bucket: [row, *before.get(bucket, (0, slot))[1:]] for bucket, (row, slot) in after.items()}
        for dicts.base in (before, after):
            if np.allclose(rows, dicts.values(ids), rtol=2e-4, atol=2e-5):
                break
        trained.follow(ids, factors, rows, time)
        dicts.base = after


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("steps", [60, pytest.param(1000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("held", HELD)
def test_another_thread_evicts_and_forgets(held: str, steps: int, tmp_path: Path) -> None:
    trained = Trained("adagrad", **HELD[held](tmp_path))
    for time in range(steps):
        happens = {4: "evict", 9: "forget", 14: "evict", 19: "begin"}.get(time % 20)
        if happens:
            Elsewhere(trained, happens).during_step(time)
            trained.compare()
        else:
            trained.step(time)


MANY_BUCKETS, IDS, STEPS, THREADS, LONG_BATCH = 50, 3000, 1000, 4, 24
#: Whole numbers, and steps that do not depend on the rows: any order of them gives the same bits.
MATRIX = np.random.default_rng(1).integers(-40, 40, [MANY_BUCKETS, 4]).astype(np.float32)


@pytest.mark.parametrize("saves", [False, True], ids=["training alone", "beside saves"])
def test_a_thousand_steps_of_four_threads_are_those_of_a_dict(saves: bool, tmp_path: Path) -> None:
    drawn = np.random.default_rng(2)
    batches = drawn.integers(-IDS, IDS, [STEPS, LONG_BATCH]) * 7919 % (2**62)
    gradients = drawn.integers(-3, 4, [STEPS, LONG_BATCH, 1]).astype(np.float32)
    words = {int(one): MATRIX[one % MANY_BUCKETS].copy() for one in np.unique(batches)}
    for batch, gradient in zip(batches, gradients, strict=True):
        for one, change in zip(batch, gradient, strict=True):
            words[int(one)] -= change
    with tf.Graph().as_default(), v1.Session() as session:
        table = make_table(base_buckets=MANY_BUCKETS)
        ids, factors = v1.placeholder(tf.int64, [None]), v1.placeholder(tf.float32, [None, 1])
        rows = runtime.sparse_lookup(table, ids)
        _, anchors = runtime.get_dense_and_sparse_variable([table])
        step = gradient_descent.create_hash_optimizer(1.0).minimize(tf.reduce_sum(rows * factors), var_list=anchors)
        begun, read = runtime.set_base(table, MATRIX), runtime.sparse_lookup(table, ids, is_train=False)
        saver = v1.train.Saver(max_to_keep=1)
        session.run(v1.global_variables_initializer())
        session.run(begun)
        failed: list[Any] = []

        def train(first: int) -> None:
            try:
                for number in range(first, STEPS, THREADS):
                    session.run(step, {ids: batches[number], factors: gradients[number]})
                    if saves and number % 100 == first:
                        with session.graph.as_default():
                            saver.save(session, str(tmp_path / f"of-{first}"), write_state=False)
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=train, args=[first]) for first in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed, failed
        found = session.run(read, {ids: [*words]})
        np.testing.assert_array_equal(found, np.stack([*words.values()]))
        unseen = np.setdiff1d(np.arange(5000), np.array([*words]))[:200]
        np.testing.assert_array_equal(session.run(read, {ids: unseen}), MATRIX[unseen % MANY_BUCKETS])
        assert session.run(table.size()) == len(words) > STEPS
