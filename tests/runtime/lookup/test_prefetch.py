"""`runtime.prefetch` in datasets: rows of tiers below memory come near, and nothing else changes."""

from __future__ import annotations

import gc
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad
from runtime.storage import Storage, TierStatus, tier_status
from tests.support.runtime.tables import make_table, step

v1 = tf.compat.v1
_KEYS, _SIZE, _BATCHES = 6000, 200, 12


def _cold(tmp_path: Path, name: str = "cold", kind: str = "dram_ssdhash") -> runtime.Table:
    """Return a table that has all keys, most of them below memory."""
    table = make_table(name, storage=Storage(kind, tmp_path, [100_000]))
    runtime.sparse_lookup(table, tf.range(_KEYS, dtype=tf.int64))
    table.drain()
    return table


def _batches() -> Any:
    return np.random.default_rng(0).integers(0, _KEYS, (_BATCHES, _SIZE))


def _status(table: runtime.Table) -> tuple[TierStatus, ...]:
    return tier_status(table.tier_status())


def _reads(table: runtime.Table, least: int) -> bool:
    for _ in range(500):
        if _status(table)[-1].read_rows >= least:
            return True
        time.sleep(0.01)
    return False


def _trained(table: runtime.Table, dataset: Any) -> list[float]:
    optimizer = adagrad.create_hash_optimizer(0.1)
    losses = []
    for ids in dataset.prefetch(2):
        time.sleep(0.02)  # for the dense part of a model
        losses.append(float(step(table, optimizer, ids, lambda rows: tf.reduce_sum(tf.sin(rows)))))
    return losses


@pytest.mark.parametrize("kind", ["dram_ssdhash", "dram_pmem", "dram_leveldb"])
@pytest.mark.one_case
def test_eager_training_gives_the_same_bits(tmp_path: Path, kind: str) -> None:
    dataset = tf.data.Dataset.from_tensor_slices(_batches())
    plain = _trained(make_table("cold"), dataset)
    table = _cold(tmp_path, kind=kind)
    ahead = _trained(table, dataset.map(lambda ids: runtime.prefetch(table, ids)))
    memory, below = _status(table)
    assert ahead == plain
    assert below.prefetched > 300 and memory.prefetched == 0
    assert memory.capacity is not None and memory.rows <= memory.capacity + _SIZE
    assert int(table.size()) == _KEYS


def test_ids_pass_as_they_are(tmp_path: Path) -> None:
    table, plain = _cold(tmp_path), make_table("plain")
    narrow = tf.constant([[5, 6], [7, 99999]], tf.int32)
    sparse = tf.sparse.from_dense(tf.constant([[1, 0], [0, 2]], tf.int64))
    ragged = tf.ragged.constant([[1, 2], [], [3]], dtype=tf.int64)
    for given in (table, table.variable, [plain, table], plain, []):
        np.testing.assert_array_equal(runtime.prefetch(given, narrow), narrow)
        np.testing.assert_array_equal(tf.sparse.to_dense(runtime.prefetch(given, sparse)), tf.sparse.to_dense(sparse))
        assert runtime.prefetch(given, ragged).to_list() == ragged.to_list()
    assert int(table.size()) == _KEYS and int(plain.size()) == 0
    assert runtime.prefetch(table, narrow).dtype == tf.int32


@pytest.mark.parametrize(
    ("table", "ids", "message"),
    [("user", [1], "must be a table created by create_table"), ([], ["a"], "strings: tf.strings.to_hash_bucket_fast")],
)
def test_what_it_cannot_take_is_refused(table: Any, ids: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        runtime.prefetch(table, ids)


@pytest.mark.soak
def test_a_pipeline_outlives_its_table_and_its_batches(tmp_path: Path) -> None:
    table = _cold(tmp_path, "gone")
    known = [table]
    every = tf.data.Dataset.range(_KEYS).batch(500)
    elements = iter(every.map(lambda ids: runtime.prefetch(known[0], ids)).prefetch(4))
    np.testing.assert_array_equal(next(elements), np.arange(500))
    assert _reads(table, 1)
    del elements  # in the middle: training goes on with another dataset
    ids = tf.range(2000, 2600, dtype=tf.int64)
    first = runtime.sparse_lookup(table, ids)
    checkpoint = tf.train.Checkpoint(table=table)
    path = checkpoint.save(str(tmp_path / "model"))
    table.import_rows(ids, tf.zeros_like(first))
    runtime.prefetch(table, ids)
    checkpoint.restore(path)
    np.testing.assert_array_equal(runtime.sparse_lookup(table, ids), first)
    elements = iter(every.map(lambda ids: runtime.prefetch(known[0], ids)))
    next(elements)
    known.clear()
    del checkpoint, table
    gc.collect()
    assert "gone" not in [one.name for one in runtime.status().tables]
    assert sum(1 for _ in elements) == _KEYS // 500 - 1
