"""EmbeddingVariables whose rows lie on a device or on disk train as those in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat import deeprec
from runtime.compat.deeprec import storage
from runtime.compat.deeprec.config_pb2 import CacheStrategy, StorageType


def _option(rec: Any, path: Path, size: int, kind: int = StorageType.DRAM_SSDHASH, **settings: Any) -> Any:
    storage = rec.StorageOption(storage_type=kind, storage_path=str(path), storage_size=[size], **settings)
    return rec.EmbeddingVariableOption(storage_option=storage)


def _trained(rec: Any, variable: Any, optimizer: Any) -> tuple[Any, Any, Any]:
    ids = rec.placeholder(rec.int64, [None])
    rows = rec.nn.embedding_lookup(variable, ids)
    loss = rec.reduce_sum(rec.multiply(rows, 2.0))
    return ids, rows, optimizer.apply_gradients(optimizer.compute_gradients(loss))


def test_the_tier_of_a_key_is_that_of_the_part_that_holds_it(rec: Any, tmp_path: Path) -> None:
    option = _option(rec, tmp_path, 2 * 256)
    parts = rec.fixed_size_partitioner(2)
    one = rec.ones_initializer()
    variable = rec.get_embedding_variable("var", 30, initializer=one, partitioner=parts, ev_option=option)
    ids, _, train = _trained(rec, variable, rec.train.AdagradOptimizer(0.1))
    from tensorflow.python.ops import kv_variable_ops

    tiers = kv_variable_ops.lookup_tier(variable, rec.constant([1, 2, 3, 4, 5, 6], rec.int64))
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        for batch in ([1, 2, 3], [1, 2, 4], [1, 2, 2], [1, 2, 5]):
            session.run(train, {ids: batch})
        assert session.run(tiers).tolist() == [0, 0, 1, 0, 0, -1], "two rows of each part lie in memory"


@pytest.mark.parametrize(
    ("kind", "engine", "sizes"),
    [
        ("SSDHASH", "dram_ssdhash", [100]),
        ("DRAM_LEVELDB", "dram_leveldb", [100]),
        ("DRAM_PMEM", "dram_pmem", [100, 200]),
        ("DRAM_PMEM_SSDHASH", "dram_pmem_ssdhash", [100, 200]),
        ("HBM_DRAM", "dram", [100]),
        ("HBM_DRAM_SSDHASH", "dram_ssdhash", [300]),
        ("DRAM", "dram", [100]),
    ],
)
def test_storage_types_come_to_tiers(tmp_path: Path, kind: str, engine: str, sizes: list[int]) -> None:
    option = deeprec.StorageOption(StorageType.Value(kind), str(tmp_path), [100, 200])
    storage.allow_hbm_as_dram(True)
    try:
        found = storage.tiers(option)
    finally:
        storage.allow_hbm_as_dram(False)
    assert found is not None
    assert (found.kind, found.sizes, found.counts_values) == (engine, sizes, True)


v1 = tf.compat.v1
_ROWS = 24


@pytest.fixture
def on_cpu(graph: tf.Graph) -> Iterator[None]:
    deeprec.install(hbm_device="/cpu:0")
    yield
    deeprec.uninstall()


def _variable(name: str, kind: str, folder: Path, strategy: int = CacheStrategy.LFU, **more: Any) -> Any:
    storage = deeprec.StorageOption(StorageType.Value(kind), str(folder), [4 * 4 * _ROWS, 1 << 20], strategy)
    start = np.asarray([0.5, -0.5, 0.25, 1], np.float32)
    option = deeprec.EmbeddingVariableOption(
        storage_option=storage, init_option=deeprec.InitializerOption(initializer=start), **more
    )
    return deeprec.get_embedding_variable(name, 4, ev_option=option)


def _by_key(exported: Any) -> list[Any]:
    order = np.argsort(exported[0])
    return [one[order] for one in exported]


_HBM = [name for name in dict(StorageType.items()) if name.startswith("HBM")]


@pytest.mark.parametrize("kind", _HBM)
@pytest.mark.parametrize(
    ("optimizer", "filtered"),
    [
        (lambda: v1.train.AdagradOptimizer(0.1), False),
        (lambda: v1.train.AdamOptimizer(0.01), True),
        (lambda: v1.train.GradientDescentOptimizer(0.1), True),
    ],
    ids=["adagrad", "adam", "sgd"],
)
def test_training_gives_the_bits_of_memory(
    on_cpu: None, tmp_path: Path, kind: str, optimizer: Any, filtered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_RECORD_FREQ", "1")  # both count, so that both look up each occurrence
    more = {"filter_option": deeprec.CounterFilter(filter_freq=3)} if filtered else {}
    strategy = CacheStrategy.LRU if filtered else CacheStrategy.LFU
    pair = [_variable("hbm", kind, tmp_path, strategy, **more), _variable("dram", "DRAM", tmp_path, **more)]
    ids = v1.placeholder(tf.int64, [None])
    sparse = tf.SparseTensor(
        tf.stack([tf.range(tf.size(ids, tf.int64)) // 3, tf.range(tf.size(ids, tf.int64)) % 3], 1), ids, [4, 3]
    )
    losses, steps = [], []
    for one in pair:
        rows = tf.nn.embedding_lookup(one, ids)
        pooled = tf.nn.embedding_lookup_sparse(one, sparse, None, combiner="sum")
        losses.append(tf.reduce_sum(tf.sin(rows)) + tf.reduce_sum(tf.square(pooled - 1)))
        steps.append(optimizer().minimize(losses[-1], var_list=[one]))
    assert pair[0].table.on_device is not None and pair[1].table.on_device is None
    exported = [one.export() for one in pair]
    random = np.random.default_rng(1)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for number in range(40):
            got = session.run([*losses, *steps], {ids: random.zipf(1.3, 12) % 100})
            assert got[0] == got[1], number
            if number == 20:
                session.run(v1.global_variables_initializer())  # keeps the rows, as in DeepRec
        _, there, _, came, left = session.run(pair[0].table.device_status())
        assert there == _ROWS and came > 20 and left > 10
        for one, other in zip(*map(_by_key, session.run(exported)), strict=True):
            np.testing.assert_array_equal(one, other)
