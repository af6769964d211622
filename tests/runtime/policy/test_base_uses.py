"""Tables with a base in each way to store, look up and admit rows, against NumPy: rows and sums in dicts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad
from runtime.storage.tiers import Storage
from tests.support.runtime.tables import make_table

BUCKETS, RATE, START, STEPS = 8, 0.1, 0.1, 15
EVERY = np.arange(-40, 40)
MATRIX = np.random.default_rng(7).normal(size=[BUCKETS, 4]).astype(np.float32)


class Rows:
    """What Adagrad makes of the rows, by id; one that occurred less often than `threshold` stays as its bucket."""

    def __init__(self, threshold: int = 0) -> None:
        self._own: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._counts: dict[int, int] = {}
        self._threshold = threshold

    def read(self, keys: Any) -> np.ndarray:
        return np.stack([self._own[key][0] if key in self._own else MATRIX[key % BUCKETS] for key in map(int, keys)])

    def step(self, keys: np.ndarray, targets: np.ndarray) -> None:
        """Move bags of two ids each, whose sum is compared with a target."""
        for key in keys.ravel().tolist():
            self._counts[key] = self._counts.get(key, 0) + 1
        errors = self.read(keys.ravel()).reshape(*keys.shape, 4).sum(1) - targets
        for key in sorted(set(keys.ravel().tolist())):
            if self._counts[key] < self._threshold:
                continue
            gradient = sum((errors[bag] for bag, _ in np.argwhere(keys == key)), np.zeros(4))
            row, total = self._own.get(key, (MATRIX[key % BUCKETS].astype(np.float64), np.full(4, START)))
            total = total + gradient**2
            self._own[key] = row - RATE * gradient / np.sqrt(total), total

    @property
    def size(self) -> int:
        return len(self._own)


def _batches() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    random = np.random.default_rng(2)
    for _ in range(STEPS):
        yield random.integers(0, 30, [6, 2]), random.normal(size=[6, 4]).astype(np.float32)


def _one_by_one(table: Any, keys: Any) -> Any:
    return tf.reduce_sum(runtime.sparse_lookup(table, keys), 1)


def _counted(table: Any, keys: Any) -> Any:
    settings = {"access_and_evict_config": {"access_threshold": 3}}
    return tf.reduce_sum(runtime.sparse_lookup(table, keys, **settings), 1)


def _pooled(table: Any, keys: Any) -> Any:
    ids = tf.sparse.from_dense(tf.ones_like(keys)).with_values(tf.reshape(keys, [-1]))
    return runtime.embedding_lookup_sparse(table, ids, combiner="sum")


def _grouped(table: Any, keys: Any) -> Any:
    other = make_table("other")
    return tf.reduce_sum(runtime.grouped_lookup([(other, keys), (table, keys)])[1], 1)


def _pooled_together(table: Any, keys: Any) -> Any:
    ids = tf.RaggedTensor.from_tensor(keys)
    return runtime.grouped_embedding_lookup_sparse([(make_table("other"), ids), (table, ids)], combiner="sum")[1]


LOOKUPS = {
    "one by one": _one_by_one,
    "counted": _counted,
    "pooled": _pooled,
    "grouped": _grouped,
    "pooled together": _pooled_together,
}


def _require_rows(table: Any, rows: Rows, tolerance: float = 1e-5) -> None:
    found = runtime.sparse_lookup(table, EVERY, is_train=False)
    np.testing.assert_allclose(found, rows.read(EVERY), rtol=tolerance, atol=tolerance)
    assert int(table.size()) == rows.size


def _train(table: Any, lookup: Any, rows: Rows, tolerance: float = 1e-5) -> None:
    optimizer = adagrad.create_hash_optimizer(RATE, START)
    for keys, targets in _batches():
        with tf.GradientTape() as tape:
            error = lookup(table, tf.constant(keys, tf.int64)) - targets
            loss = 0.5 * tf.reduce_sum(error * error)
        optimizer.apply_gradients([(tape.gradient(loss, table.variable), table.variable)])
        rows.step(keys, targets)
    _require_rows(table, rows, tolerance)


@pytest.mark.parametrize("lookup", LOOKUPS)
def test_each_lookup(lookup: str, tmp_path: Path) -> None:
    threshold = 3 if lookup == "counted" else 0
    table, rows = make_table(base_buckets=BUCKETS), Rows(threshold)
    runtime.set_base(table, MATRIX)
    _train(table, LOOKUPS[lookup], rows)
    path = tf.train.Checkpoint(table=table).save(str(tmp_path / "saved"))
    again = make_table(base_buckets=BUCKETS)
    tf.train.Checkpoint(table=again).restore(path)
    _require_rows(again, rows)


@pytest.mark.parametrize("stored", ["bfloat16", "limited", "evicting", "disk", "log"])
def test_each_way_to_store_rows(stored: str, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "bfloat16": {"value_dtype": tf.bfloat16},
        "limited": {"max_bytes": 1 << 24},
        "evicting": {"max_bytes": 1 << 24, "when_full": "evict"},
        "disk": {"storage": Storage("dram_ssdhash", tmp_path, (300,))},
        "log": {"storage": Storage("dram_pmem", tmp_path, (300,))},
    }[stored]
    table, rows = make_table(base_buckets=BUCKETS, **options), Rows()
    runtime.set_base(table, MATRIX)
    _train(table, _one_by_one, rows, 0.1 if stored == "bfloat16" else 1e-5)


def test_ids_that_wait_read_their_buckets_and_counters_of_buckets_stay_behind() -> None:
    settings = {"access_and_evict_config": {"access_threshold": 3}}
    bucketed, table = make_table("bucketed"), make_table(base_buckets=BUCKETS)
    for _ in range(3):
        runtime.sparse_lookup(bucketed, np.arange(4), **settings)
    runtime.sparse_lookup(bucketed, [4], **settings)
    runtime.set_base(table, bucketed)
    old = np.asarray(runtime.sparse_lookup(bucketed, np.arange(4), is_train=False))
    ids = np.arange(16, 24)
    for occurrence in range(3):
        for is_train in (False, True):
            rows = np.asarray(runtime.sparse_lookup(table, ids, is_train=is_train, **settings))
            np.testing.assert_array_equal(rows[:4], old)
            assert rows[4:].any() == (occurrence == 2 and is_train)  # buckets that had no row: then the initializer's
        assert int(table.size()) == (8 if occurrence == 2 else 0)
    # The buckets 0 to 3 were seen often; the ids 0 to 3 never.
    runtime.sparse_lookup(table, np.arange(4), **settings)
    assert int(table.size()) == 8
