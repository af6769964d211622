"""EmbeddingVariables with an HBM tier on a device: a CPU stands for the GPU. They train as those in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat import deeprec
from runtime.compat.deeprec.config_pb2 import CacheStrategy, StorageType

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
