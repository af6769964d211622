"""Tables with tiers below memory train, save and restore as those in memory alone, bit for bit."""

from __future__ import annotations

import ctypes.util
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad, adam, lazy_adam
from runtime.storage import Storage, hit_rates, tiers
from runtime.table.tier_summaries import tier_scalars
from tests.support import forking
from tests.support.runtime.tables import make_table, session

v1 = tf.compat.v1


def _batches(count: int, seed: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    seldom, often = random.integers(0, 20000, (count, 300)), random.integers(0, 40, (count, 300))
    return list(np.where(random.random((count, 300)) < 0.5, seldom, often))


def _small(tmp_path: Path, policy: str = "lfu", kind: str = "dram_ssdhash") -> Storage:
    sizes = [20_000, 40_000] if len(tiers.KINDS[kind]) == 3 else [20_000]
    return Storage(kind, path=tmp_path / "a;b%c", sizes=sizes, policy=policy)


@pytest.mark.parametrize(
    ("kind", "optimizer", "policy"),
    [
        ("dram_ssdhash", adagrad, "lfu"),
        ("dram_ssdhash", adam, "lru"),
        ("dram_ssdhash", lazy_adam, "lfu"),
        ("dram_pmem", adam, "lfu"),
        ("dram_leveldb", adagrad, "lru"),
        ("dram_pmem_ssdhash", lazy_adam, "lru"),
        ("dram_pmem_leveldb", adam, "lfu"),
    ],
)
def test_training_on_tiers_gives_the_bits_of_one(
    graph: tf.Graph, tmp_path: Path, kind: str, optimizer: Any, policy: str
) -> None:
    ids = v1.placeholder(tf.int64, [None])
    runs = []
    for name, settings in (("cold", {"storage": _small(tmp_path, policy, kind)}), ("warm", {})):
        table = make_table(name, initializer=v1.random_normal_initializer(seed=3), **settings)
        rows = runtime.sparse_lookup(table, ids)
        runs.append([rows, optimizer.create_hash_optimizer(0.1).minimize(tf.reduce_sum(tf.sin(rows))), table])
    (cold_rows, train_cold, cold), (warm_rows, train_warm, warm) = runs
    read = runtime.sparse_lookup(cold, ids, is_train=False)
    with session() as opened:
        everything = np.unique(np.concatenate(_batches(60, 5)))
        first = opened.run(read, {ids: everything})  # initial values depend on the name
        opened.run([table.import_rows(everything, first) for table in (cold, warm)])
        for batch in _batches(60, 5):
            got = opened.run([cold_rows, warm_rows, train_cold, train_warm], {ids: batch})
            np.testing.assert_array_equal(got[0], got[1])
        opened.run(cold.drain())
        memory, *lower = tiers.tier_status(opened.run(cold.tier_status()))
        assert memory.capacity is not None and memory.rows <= memory.capacity < 400
        assert sum(tier.rows for tier in (memory, *lower)) == opened.run(cold.size())
        assert all(tier.found > 100 and tier.rows > 0 for tier in lower)
        assert 0.2 < hit_rates([memory, *lower])[0] < 0.95
        for part, whole in zip(_by_key(opened.run(cold.snapshot())), _by_key(opened.run(warm.snapshot())), strict=True):
            np.testing.assert_array_equal(part, whole)


def _by_key(snapshot: Any) -> list[Any]:
    keys, values, slots, _ = snapshot
    order = np.argsort(keys)
    return [keys[order], values[order], slots[order]]


def test_an_eager_table_says_where_its_rows_lie(tmp_path: Path) -> None:
    table = make_table("where", storage=Storage("dram_ssdhash", path=tmp_path, sizes=[128], counts_values=True))
    runtime.sparse_lookup(table, tf.range(12, dtype=tf.int64))
    runtime.sparse_lookup(table, tf.constant([3, 7], tf.int64))
    table.drain()
    np.testing.assert_array_equal(table.tier_of(np.arange(13)), [1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, -1])
    assert list(tmp_path.iterdir()) == []  # what lies there has no name, and goes with the process


def test_hit_rates_are_shares_of_all_rows_found(tmp_path: Path) -> None:
    table = make_table("shares", storage=Storage("dram_ssdhash", path=tmp_path, sizes=[128], counts_values=True))
    for ids in (tf.range(12, dtype=tf.int64), tf.constant([3, 7], tf.int64)):
        runtime.sparse_lookup(table, ids)
        table.drain()
    found = [tier.found for tier in tiers.tier_status(table.tier_status())]
    rates = [float(value) for tag, value in tier_scalars(table).items() if tag.endswith("/hit_rate")]
    assert min(found) >= 0 and sum(found) > 1
    assert rates == pytest.approx([one / sum(found) for one in found])


def test_an_eager_table_writes_its_scalars_to_the_default_writer(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")  # which tf.summary needs, and not every TensorFlow brings
    table = make_table("written", storage=_small(tmp_path / "rows"))
    with tf.summary.create_file_writer(str(tmp_path / "log")).as_default():
        assert runtime.tier_summaries(table, step=1) is None
    (events,) = (tmp_path / "log").iterdir()
    assert b"written/tiers/log/hit_rate" in events.read_bytes()
    with pytest.raises(ValueError, match="has one tier"):
        runtime.tier_summaries(make_table("plain"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "hbm"}, "must be one of"),
        ({"kind": "dram_ssdhash"}, "needs a `path`"),
        ({"kind": "dram_ssdhash", "path": "x", "sizes": [1, 2, 3]}, "3 sizes"),
        ({"kind": "dram_ssdhash", "path": "x", "sizes": [0]}, "sizes"),
        ({"kind": "dram_ssdhash", "path": "x", "policy": "fifo"}, "policy"),
    ],
)
def test_a_storage_that_cannot_be_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Storage(**arguments)


def test_a_folder_that_cannot_be_written_to_is_named() -> None:
    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"table 'nowhere' .* '/proc/nowhere'"):
        make_table("nowhere", storage=Storage("dram_ssdhash", path="/proc/nowhere"))


@pytest.mark.skipif(ctypes.util.find_library("leveldb") is not None, reason="the system has LevelDB")
def test_without_leveldb_the_package_is_named(tmp_path: Path) -> None:
    program = (
        "import sys, tensorflow as tf, runtime.storage\n"
        "runtime.storage.tiers._leveldb_library = lambda: ''\n"
        "storage = runtime.storage.Storage('dram_leveldb', path=sys.argv[1])\n"
        "runtime.create_table(tf.int64, 4, 'without', tf.compat.v1.zeros_initializer(), storage=storage)"
    )
    result = subprocess.run(
        [forking.python(), "-c", program, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert result.returncode != 0
    assert re.search(r"table 'without' .*LevelDB, which is not installed; `pip install plyvel`", result.stderr)
    assert list(tmp_path.iterdir()) == []


def test_tiers_exclude_a_limit_of_memory(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="exclude each other"):
        make_table("both", max_bytes=10**6, storage=_small(tmp_path))
