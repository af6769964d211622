"""A full table that evicts: training over ids that slide on stays within the limit and trains what it keeps as ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad, adam
from tests.support.runtime.tables import make_table, session

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


@pytest.mark.parametrize("optimizer", [adagrad, adam])
def test_slots_of_a_first_update_take_the_place_of_rows_that_were_not_used_for_longest(optimizer: Any) -> None:
    limit, name = 400_000, f"first_{optimizer.__name__.rpartition('.')[2]}"
    table = make_table(name, dim=8, initializer=v1.ones_initializer(), max_bytes=limit, when_full="evict")
    for start in range(0, 7000, 500):
        runtime.sparse_lookup(table, np.arange(start, start + 500))
    assert (_status(name).rows, _status(name).evicted) == (7000, 0)
    last = np.arange(6500, 7000)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.sin(runtime.sparse_lookup(table, last)))
    train = optimizer.create_hash_optimizer(0.1)
    train.apply_gradients([(tape.gradient(loss, table.variable), table.variable)])
    status = _status(name)
    assert status.bytes <= limit + 16 * 4096 * (optimizer is adam)
    assert status.rows + status.evicted == 7000 and 500 <= status.rows < 6500
    keys, values, slots, _ = (part.numpy() for part in table.snapshot())
    assert set(last) <= set(keys)
    assert slots.shape == (len(keys), 8 * (2 if optimizer is adam else 1))
    trained = np.isin(keys, last)
    assert (values[trained] != 1).all() and (values[~trained] == 1).all()
    # The longest unused went first: what is left of the others came later than most of what is gone.
    assert np.median(keys[~trained]) > np.median(np.setdiff1d(np.arange(7000), keys))


def test_a_checkpoint_larger_than_the_limit_is_restored_as_far_as_it_fits(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = make_table("large", initializer=v1.ones_initializer())
    runtime.sparse_lookup(table, np.arange(5000))
    path = tf.train.Checkpoint(table=table).write(str(tmp_path / "model"))
    other = make_table("small", initializer=v1.zeros_initializer(), max_bytes=60_000, when_full="evict")
    tf.train.Checkpoint(table=other).read(path)
    status = _status("small")
    assert 50_000 < status.bytes <= 60_000 and status.rows + status.evicted == 5000
    keys, values, *_ = other.snapshot()
    assert (values.numpy() == 1).all() and len(set(keys.numpy())) == status.rows
    assert f"table 'small' was restored without {status.evicted} of 5000 rows" in caplog.text
