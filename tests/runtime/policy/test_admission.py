"""Admission: the documented rules of thresholds, and lookups that count against dicts of counts and numpy rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import checkpoint, native
from runtime.optimizers import gradient_descent, gradient_descent_by_addr
from runtime.table import admission_rules
from tests.support.runtime.tables import make_table, session

v1 = tf.compat.v1
RATE = 0.5


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ({}, (None, None)),
        ({"access_threshold": None, "eviction_threshold": None}, (None, None)),
        ({"access_threshold": -1}, (None, None)),
        ({"access_threshold": -1, "eviction_threshold": -1}, (None, None)),
        ({"access_threshold": 0}, (0, None)),
        ({"access_threshold": 0, "eviction_threshold": 0}, (0, 0)),
        ({"access_threshold": 7, "eviction_threshold": 86400}, (7, 86400)),
        ({"access_threshold": 7, "eviction_threshold": -1}, (7, None)),
    ],
)
def test_thresholds_of_zero_or_more_are_on_and_minus_one_is_off(config: Any, wanted: Any) -> None:
    rules = admission_rules.parse(config)
    assert (rules.access_threshold, rules.eviction_threshold) == wanted
    assert rules.faae_coefficient == 1


@pytest.mark.parametrize(
    ("config", "part"),
    [
        ({"access_threshold": -2}, "is less than -1"),
        ({"access_threshold": 1, "eviction_threshold": -2}, "is less than -1"),
        ({"access_threshold": 2**31}, "is bigger than"),
        ({"access_threshold": 1.0}, "Invalid parameter type of para"),
        ({"access_threshold": True}, "Invalid parameter type of para"),
        ({"eviction_threshold": 5}, "needs an `access_threshold`"),
        ({"access_threshold": -1, "eviction_threshold": 0}, "needs an `access_threshold`"),
        ({"access_threshold": 1, "faae_coefficient": 0}, "is less than 1"),
        ({"acces_threshold": 1}, "has no key 'acces_threshold'"),
        ({"access_probability": 0.0}, "access_probability"),
        ({"access_probability": 1}, "is not float"),
        ({"access_probability": 0.5, "access_threshold": 2}, "give one of them"),
        ({"access_probability": 0.5, "bloom_filter": runtime.CountingBloom(10)}, "give no `bloom_filter`"),
        ({"access_threshold": 256, "bloom_filter": runtime.CountingBloom(10, counter_bits=8)}, "more bits"),
        ({"access_threshold": 2, "bloom_filter": 5}, "CountingBloom"),
        ([("access_threshold", 1)], "a dict or None"),
    ],
)
def test_wrong_thresholds_are_refused(config: Any, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        admission_rules.parse(config)


class Oracle:
    """The rules in Python: counts per key, rows of admitted keys, plain SGD."""

    def __init__(self, threshold: int, coefficient: int, initial: Any) -> None:
        self.threshold, self.coefficient, self.initial = threshold, coefficient, initial
        self.counts: Counter[int] = Counter()
        self.rows: dict[int, np.ndarray] = {}

    def step(self, keys: list[int], grads: np.ndarray) -> np.ndarray:
        """Count, read, then update: the rows read."""
        for key in keys:
            self.counts[key] += self.coefficient
        for key in keys:
            if self.counts[key] >= self.threshold and key not in self.rows:
                self.rows[key] = np.array(self.initial(key))
        read = np.stack([self.read(key) for key in keys])
        for key, grad in zip(keys, grads, strict=True):
            if self.counts[key] >= self.threshold:
                self.rows[key] = self.rows[key] - np.float32(RATE) * grad
        return read

    def read(self, key: int) -> np.ndarray:
        """Return the row, or zeros."""
        return self.rows[key] if self.counts[key] >= self.threshold else np.zeros(4, np.float32)


@pytest.mark.parametrize("bloom", [None, runtime.CountingBloom(5000, 0.001, 16)])
@pytest.mark.parametrize("eager", [False, True])
def test_lookups_count_admit_and_drop_gradients_like_the_oracle(bloom: Any, eager: bool) -> None:
    config = {"access_threshold": 5, "faae_coefficient": 2, "bloom_filter": bloom}
    random = np.random.default_rng(3)
    batches = [random.integers(-3, 40, 12).tolist() for _ in range(25)]
    runner: Any = _Eager(config) if eager else _Graph(config)
    oracle = Oracle(5, 2, runner.initial)
    for keys in batches:
        grads = random.normal(size=(12, 4)).astype(np.float32)
        np.testing.assert_allclose(runner.step(keys, grads), oracle.step(keys, grads), rtol=1e-5, atol=1e-6)
        assert runner.size() == len(oracle.rows)
    everything = list(range(-5, 45))
    wanted = np.stack([oracle.read(key) for key in everything])
    for _ in range(4):  # evaluation neither counts nor inserts
        np.testing.assert_allclose(runner.evaluate(everything), wanted, rtol=1e-5, atol=1e-6)
    assert runner.size() == len(oracle.rows) > 10


class _Graph:
    """The steps in a v1 session."""

    def __init__(self, config: Any) -> None:
        with tf.Graph().as_default():
            self._build(config)

    def _build(self, config: Any) -> None:
        self.table = make_table()
        self.keys, self.grads = v1.placeholder(tf.int64, [None]), v1.placeholder(tf.float32, [None, 4])
        self.rows = runtime.sparse_lookup(self.table, self.keys, access_and_evict_config=config)
        loss = tf.reduce_sum(self.rows * self.grads)
        self.train = gradient_descent.create_hash_optimizer(RATE).minimize(loss)
        self.eval = runtime.sparse_lookup(self.table, self.keys, is_train=False)
        self.rows_count = self.table.size()
        self.raw = tf.reshape(self._initial(), [-1, 4])
        self.session = session()

    def _initial(self) -> tf.Tensor:
        return native.ops().rec_lookup(self.table.handle, self.table.variable.value(), self.keys, [])

    def initial(self, key: int) -> np.ndarray:
        """Return the row a key starts with (asked before it is in the table)."""
        fresh = v1.Session(graph=self.session.graph)
        fresh.run(self.table.variable.initializer)
        return np.asarray(fresh.run(self.raw, {self.keys: [key]})[0])

    def step(self, keys: list[int], grads: np.ndarray) -> np.ndarray:
        """Train once; return what was read."""
        return np.asarray(self.session.run([self.rows, self.train], {self.keys: keys, self.grads: grads})[0])

    def evaluate(self, keys: list[int]) -> np.ndarray:
        """Read without training."""
        return np.asarray(self.session.run(self.eval, {self.keys: keys}))

    def size(self) -> int:
        """Return the number of rows."""
        return int(self.session.run(self.rows_count))


class _Eager:
    """The steps in a tf.function."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.table, self.untouched = make_table(), make_table()
        self.optimizer = gradient_descent.create_hash_optimizer(RATE)
        self.traced = tf.function(self._step, reduce_retracing=True)

    def initial(self, key: int) -> np.ndarray:
        """Return the row a key starts with."""
        return np.asarray(runtime.sparse_lookup(self.untouched, [key], is_train=False))[0]

    def _step(self, keys: tf.Tensor, grads: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            rows = runtime.sparse_lookup(self.table, keys, access_and_evict_config=self.config)
            loss = tf.reduce_sum(rows * grads)
        self.optimizer.apply_gradients([(tape.gradient(loss, self.table.variable), self.table.variable)])
        return rows

    def step(self, keys: list[int], grads: np.ndarray) -> np.ndarray:
        """Train once; return what was read."""
        return np.asarray(self.traced(tf.constant(keys, tf.int64), grads))

    def evaluate(self, keys: list[int]) -> np.ndarray:
        """Read without training."""
        return np.asarray(runtime.sparse_lookup(self.table, keys, is_train=False))

    def size(self) -> int:
        """Return the number of rows."""
        return int(self.table.size())


def test_the_serving_default_is_read_until_a_key_is_admitted() -> None:
    table = make_table()
    settings: Any = {"access_and_evict_config": {"access_threshold": 2}, "serving_default_value": [1.0, 2.0, 3.0, 4.0]}
    first = np.asarray(runtime.sparse_lookup(table, [[5, 6], [6, 7]], **settings))
    assert first[0, 0].tolist() == first[1, 1].tolist() == [1, 2, 3, 4]
    assert first[0, 1].tolist() == first[1, 0].tolist() != [1, 2, 3, 4]
    evaluated = np.asarray(runtime.sparse_lookup(table, [5, 6], is_train=False, serving_default_value=9.0))
    assert evaluated[0].tolist() == [9, 9, 9, 9] and evaluated[1].tolist() == first[0, 1].tolist()
    assert int(table.size()) == 1


def test_is_train_as_a_tensor_counts_only_when_true() -> None:
    with tf.Graph().as_default():
        table = make_table()
        training = v1.placeholder_with_default(True, [])
        rows = runtime.sparse_lookup(
            table, tf.constant([1], tf.int64), is_train=training, access_and_evict_config={"access_threshold": 2}
        )
        size = table.size()
        with session() as opened:
            for _ in range(3):
                opened.run(rows, {training: False})
            assert not opened.run(rows).any() and opened.run(size) == 0
            assert opened.run(rows).any() and opened.run(size) == 1


def test_lookups_of_one_table_must_agree() -> None:
    table = make_table()
    runtime.sparse_lookup(table, [1], access_and_evict_config={"access_threshold": 2})
    runtime.sparse_lookup(table, [1], access_and_evict_config={"access_threshold": 2, "faae_coefficient": 3})
    for other in ({"access_threshold": 3}, {"access_threshold": -1}, None):
        with pytest.raises(ValueError, match="different thresholds"):
            runtime.sparse_lookup(table, [1], access_and_evict_config=other)
    with pytest.raises(ValueError, match="different thresholds"):
        runtime.grouped_lookup([(table, [1])])
    with pytest.raises(ValueError, match="different thresholds"):
        runtime.embedding_lookup_sparse(table, tf.sparse.from_dense(tf.constant([[1]], tf.int64)), None)
    off = make_table()
    runtime.sparse_lookup(off, [1])
    runtime.sparse_lookup(off, [1], access_and_evict_config={"access_threshold": -1})
    with pytest.raises(ValueError, match="no thresholds and access 1"):
        runtime.sparse_lookup(off, [1], is_train=False, access_and_evict_config={"access_threshold": 1})


def test_two_lookups_in_one_step_count_one_after_the_other() -> None:
    with tf.Graph().as_default():
        table = make_table()
        keys = v1.placeholder(tf.int64, [None])
        config = {"access_threshold": 2}
        one = runtime.sparse_lookup(table, keys, access_and_evict_config=config)
        two = runtime.sparse_lookup(table, keys + 0, access_and_evict_config=config)
        with session() as opened:
            for key in range(50):
                first, second = opened.run([one, two], {keys: [key]})
                assert not first.any() and second.any()


def test_a_threshold_can_be_set_while_training() -> None:
    table = make_table()

    def look(key: int) -> bool:
        return bool(np.any(runtime.sparse_lookup(table, [key], access_and_evict_config={"access_threshold": 1})))

    assert look(5)
    runtime.set_threshold(table, 4)
    assert not look(5) and not look(5) and look(5)  # seen twice, three, four times
    runtime.set_threshold(table, 0)
    assert look(5) and not look(6) and not look(6)
    runtime.set_threshold(table, 2)
    assert not look(6) and look(6)
    with pytest.raises(ValueError, match="less than 0"):
        runtime.set_threshold(table, -1)


def test_checkpoints_keep_counters_of_keys_with_and_without_rows(tmp_path: Path) -> None:
    def build() -> tuple[Any, ...]:
        table = make_table()
        keys = v1.placeholder(tf.int64, [None])
        rows = runtime.sparse_lookup(table, keys, access_and_evict_config={"access_threshold": 3})
        return keys, rows, table.size(), v1.train.Saver()

    with tf.Graph().as_default():
        keys, rows, size, saver = build()
        with session() as opened:
            opened.run(rows, {keys: [1, 1, 2, 2, 2]})
            path = saver.save(opened, str(tmp_path / "model"))
    with tf.Graph().as_default():
        keys, rows, size, saver = build()
        with session() as opened:
            opened.run(rows, {keys: [4, 4]})
            saver.restore(opened, path)
            assert opened.run(size) == 1
            read = opened.run(rows, {keys: [1, 2, 4]})
            assert read[0].any() and read[1].any() and not read[2].any()


def test_checkpoints_keep_a_threshold_that_was_set(tmp_path: Path) -> None:
    config = {"access_threshold": 1}
    paths = []
    for rank, threshold in enumerate([None, 3]):
        table = make_table()
        runtime.sparse_lookup(table, [rank], access_and_evict_config=config)
        if threshold:
            runtime.set_threshold(table, threshold)
        paths.append(tf.train.Checkpoint(table=table).write(str(tmp_path / f"rank{rank}")))
    for given in (paths[1:], paths):
        other = make_table()
        checkpoint.restore_table(other, given)
        assert not np.any(runtime.sparse_lookup(other, [7], access_and_evict_config=config))
        assert np.any(runtime.sparse_lookup(other, [7, 7], access_and_evict_config=config))
    other = make_table()
    runtime.set_threshold(other, 3)
    tf.train.Checkpoint(table=other).read(paths[0])
    assert np.any(runtime.sparse_lookup(other, [7], access_and_evict_config=config))


def test_rows_that_did_not_come_by_counting_stay_admitted() -> None:
    config = {"access_threshold": 2}
    table = make_table()
    table.import_rows([5], np.ones([1, 4]))
    for threshold in (2, 9):
        runtime.set_threshold(table, threshold)
        for is_train in (True, False):
            read = runtime.sparse_lookup(table, [5, 6], is_train=is_train, access_and_evict_config=config)
            assert np.asarray(read).any(-1).tolist() == [True, False]


def test_eager_checkpoints_keep_counters(tmp_path: Path) -> None:
    config = {"access_threshold": 3, "bloom_filter": runtime.CountingBloom(1000, 0.01, 8)}
    table = make_table()
    runtime.sparse_lookup(table, [1, 1], access_and_evict_config=config)
    path = tf.train.Checkpoint(table=table).write(str(tmp_path / "model"))
    other = make_table()
    tf.train.Checkpoint(table=other).read(path)
    read = np.asarray(runtime.sparse_lookup(other, [1, 2], access_and_evict_config=config))
    assert read[0].any() and not read[1].any()


def test_training_by_address_is_training_by_key() -> None:
    """Under dynamic expansion, with keys that are not admitted and keys that were evicted in between."""
    random = np.random.default_rng(1)
    batches = [random.integers(0, 12, [2, 4]) for _ in range(12)]
    seen = []
    for expands in (False, True):
        if expands:
            runtime.init(use_dynamic_expansion=True)
        try:
            with tf.Graph().as_default():
                seen.append(_train(batches, expands))
        finally:
            if expands:
                runtime.terminate_config_initializer()
    for by_key, by_address in zip(*seen, strict=True):
        np.testing.assert_allclose(by_key, by_address, rtol=1e-5, atol=1e-6)
    assert any(rows.ndim == 3 and not rows[:, :, 0].all() and rows.any() for rows in seen[0])


def _train(batches: list[np.ndarray], expands: bool) -> list[np.ndarray]:
    table, keys, time = make_table(), v1.placeholder(tf.int64, [2, 4]), v1.placeholder(tf.int64, [])
    config = {"access_threshold": 3, "eviction_threshold": 2, "timestamp": time}
    rows = runtime.sparse_lookup(table, keys, access_and_evict_config=config)
    loss = 0.1 * tf.reduce_sum(rows * rows)
    if expands:
        gradients = tf.gradients(loss, v1.get_collection("ASCEND_SPARSE_LOOKUP_LOCAL_EMB"))
        addresses = v1.get_collection("ASCEND_SPARSE_LOOKUP_ID_OFFSET")
        optimizer = gradient_descent_by_addr.create_hash_optimizer_by_address(RATE, weight_decay=0.0)
        train = optimizer.apply_gradients(zip(gradients, addresses, strict=True))
    else:
        train = gradient_descent.create_hash_optimizer(RATE).minimize(loss)
    evict, size = runtime.evict_by_age(table), table.size()
    with session() as opened:
        read = []
        for step, batch in enumerate(batches):
            read.append(opened.run([rows, train], {keys: batch, time: step})[0])
            if step % 3 == 2:
                read.append(opened.run(evict))
        return [*read, opened.run(size)]
