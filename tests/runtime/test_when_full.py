"""A full table that evicts: training over ids that slide on stays within the limit and trains what it keeps as ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from runtime_helpers import make_table, session

import runtime
from runtime.optimizers import adagrad, adam

v1 = tf.compat.v1
_LIMIT = 150_000


def _status(name: str) -> Any:
    (found,) = [table for table in runtime.status().tables if table.name == name]
    return found


def _window(step: int) -> Any:
    """Ids that slide on by a quarter at each step, with some that always come and some twice."""
    return np.concatenate([np.arange(100 * step, 100 * step + 400), -np.arange(1, 20), [100 * step]])


@pytest.mark.parametrize("optimizer", [adagrad, adam])
def test_a_sliding_window_of_ids_trains_as_without_a_limit(graph: tf.Graph, optimizer: Any) -> None:
    ids = v1.placeholder(tf.int64, [None])
    runs = []
    for name, settings in (("bounded", {"max_bytes": _LIMIT, "when_full": "evict"}), ("whole", {})):
        table = make_table(name, initializer=v1.ones_initializer(), **settings)
        rows = runtime.sparse_lookup(table, ids)
        train = optimizer.create_hash_optimizer(0.1).minimize(tf.reduce_sum(tf.sin(rows)))
        runs.append((rows, train, table.snapshot()))
    (rows, train, kept), (all_rows, train_all, everything) = runs
    with session() as opened:
        for step in range(40):
            fetched = opened.run([rows, all_rows, train, train_all], {ids: _window(step)})
            np.testing.assert_allclose(fetched[0], fetched[1], rtol=1e-6)
            assert _status("bounded").bytes <= _LIMIT + 16 * 4096  # Adam keeps its steps besides
        status = _status("bounded")
        assert status.evicted > 1000 and status.rows + status.evicted == _status("whole").rows
        assert "evicted" in str(runtime.status()) and _status("whole").evicted == 0
        keys, *parts, _ = opened.run(kept)
        all_keys, *all_parts, _ = opened.run(everything)
        assert len(keys) == status.rows and set(_window(39)) <= set(keys)
        order = np.argsort(all_keys)
        at = order[np.searchsorted(all_keys, keys, sorter=order)]
        for part, whole in zip(parts, all_parts, strict=True):
            np.testing.assert_allclose(part, whole[at], rtol=1e-5)


def test_eager_eviction_restarts_rows_and_forgets_slots() -> None:
    table = make_table("eager_bounded", max_bytes=60_000, when_full="evict")
    optimizer = adagrad.create_hash_optimizer(0.1)

    def step(ids: Any) -> Any:
        with tf.GradientTape() as tape:
            rows = runtime.sparse_lookup(table, ids)
            loss = tf.reduce_sum(tf.sin(rows))
        optimizer.apply_gradients([(tape.gradient(loss, table.variable), table.variable)])
        return rows.numpy()

    first = step([1, 2])
    assert (step([1, 2]) != first).all()
    for start in range(100, 3000, 50):
        step(np.arange(start, start + 80))
    np.testing.assert_array_equal(step([1, 2]), first)
    with pytest.raises(tf.errors.ResourceExhaustedError, match="use smaller batches"):
        step(np.arange(100_000))
    assert _status("eager_bounded").bytes <= 60_000


def test_a_restored_table_goes_on_evicting(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"max_bytes": 60_000, "when_full": "evict"}
    table = make_table("saved_bounded", **settings)
    for start in range(0, 2000, 50):
        runtime.sparse_lookup(table, np.arange(start, start + 100))
    path = tf.train.Checkpoint(table=table).write(str(tmp_path / "model"))
    other = make_table("restored_bounded", **settings)
    tf.train.Checkpoint(table=other).read(path)
    assert int(other.size()) == int(table.size())
    runtime.sparse_lookup(other, np.arange(1990, 2090))
    for start in range(3000, 4000, 50):
        runtime.sparse_lookup(other, np.arange(start, start + 50))
        assert _status("restored_bounded").bytes <= 60_000
    assert _status("restored_bounded").evicted > 100
