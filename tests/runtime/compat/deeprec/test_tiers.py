"""EmbeddingVariables whose rows lie in memory and on disk: DeepRec's own cases, and the steps of a tf.Variable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runtime.compat import deeprec
from runtime.compat.deeprec import storage
from runtime.compat.deeprec.config_pb2 import StorageType


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
