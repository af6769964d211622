"""Eviction by age, and of a full table."""

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
CONFIG = {"access_threshold": 0, "eviction_threshold": 10}


def look(table: Any, keys: Any, time: int, **config: Any) -> np.ndarray:
    """Look keys up at a time, eagerly."""
    rules = {**CONFIG, "timestamp": tf.constant(time), **config}
    return np.asarray(runtime.sparse_lookup(table, keys, access_and_evict_config=rules))


def test_a_time_must_be_known_and_sensible() -> None:
    table = make_table()
    with pytest.raises(ValueError, match="has an eviction_threshold but no timestamp"):
        runtime.sparse_lookup(table, [1], access_and_evict_config=CONFIG)
    with pytest.raises(ValueError, match="integer scalar"):
        runtime.sparse_lookup(table, [1], access_and_evict_config={**CONFIG, "timestamp": 1.5})
    with pytest.raises(ValueError, match="integer scalar"):
        runtime.sparse_lookup(table, [1], access_and_evict_config={**CONFIG, "timestamp": [1]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="negative"):
        look(table, [1], -1)
    with pytest.raises(ValueError, match="no eviction_threshold"):
        runtime.evict_by_age(make_table("other"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not know when its keys were looked up"):
        runtime.evict_by_age(make_table("third"), age=1, now=5)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"evict_enable": 1}, "evict_enable"),
        ({"evict_time_interval": 0}, "is less than 1"),
        ({"evict_time_interval": 2**31}, "is bigger than"),
        ({"evict_step_interval": 0}, "is less than 1"),
        ({"evict_step_interval": 1.0}, "Invalid parameter type"),
        ({"evict_time_interval": None}, "Invalid parameter type"),
    ],
)
def test_the_hook_checks_its_arguments(arguments: Any, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        runtime.EvictHook(**arguments)


def model(keys: tf.Tensor, timestamp: tf.Tensor) -> tuple[Any, ...]:
    """Build table and train op; the timestamp goes through the collection."""
    v1.add_to_collection("ASCEND_TIMESTAMP", timestamp)
    table = make_table()
    rows = runtime.sparse_lookup(table, keys, access_and_evict_config=CONFIG)
    loss = tf.reduce_sum(rows * rows)
    step = v1.train.get_or_create_global_step()
    return table, adagrad.create_hash_optimizer(0.1, 0.1).minimize(loss, step)


def sizes_by_step(hook: runtime.EvictHook, steps: int) -> list[int]:
    """Train with key = time = step; return the number of rows after each step."""
    with tf.Graph().as_default():
        time = v1.placeholder(tf.int64, [])
        table, train = model(tf.reshape(time, [1]), time)
        size = table.size()
        with v1.train.MonitoredTrainingSession(hooks=[hook]) as opened:
            sizes = []
            for step in range(steps):
                opened.run(train, {time: step})
                sizes.append(int(opened.run_step_fn(lambda step_context: step_context.session.run(size))))
    return sizes


def test_the_hook_evicts_at_every_multiple_of_the_step_interval() -> None:
    sizes = sizes_by_step(runtime.EvictHook(True, evict_step_interval=8), 24)
    # After 16 steps the time is 15: keys up to 5 are at least 10 old. After 24 the time is 23: keys up to 13.
    assert sizes == [*range(1, 16), 10, *range(11, 18), 10]


def test_what_is_no_table_is_named() -> None:
    for call in (runtime.evict_by_age, lambda table: runtime.set_threshold(table, 1)):
        with pytest.raises(ValueError, match=r"para `table`: got None, must be a table created by create_table"):
            call(None)  # type: ignore[arg-type]


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
