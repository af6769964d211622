"""Scalars of tables for TensorBoard, read back from the event file that a training session wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad
from tests.support.runtime.tables import make_table

v1 = tf.compat.v1


def _written(folder: Path) -> dict[str, dict[int, float]]:
    """Return the values of each tag by step."""
    found: dict[str, dict[int, float]] = {}
    for file in folder.glob("events.*"):
        for event in v1.train.summary_iterator(str(file)):
            for one in event.summary.value:
                found.setdefault(one.tag, {})[event.step] = one.simple_value
    return found


def _trained(hooks: list[Any], step: Any, steps: int) -> None:
    with v1.train.MonitoredSession(hooks=hooks) as session:
        for _ in range(steps):
            session.run(step)


def test_rows_admission_and_evictions_of_a_training(graph: tf.Graph, tmp_path: Path) -> None:
    """Step s looks up id s twice, which admits it, and id 1000 + s once, which waits."""
    now = v1.train.get_or_create_global_step()
    table = make_table()
    rules = {"access_threshold": 2, "eviction_threshold": 3}
    v1.add_to_collection("ASCEND_TIMESTAMP", now)
    ids = tf.concat([tf.fill([2], now), [now + 1000]], 0)
    rows = runtime.sparse_lookup(table, ids, access_and_evict_config=rules)
    sparse = adagrad.create_hash_optimizer(0.1).minimize(tf.reduce_sum(rows))
    with tf.control_dependencies([sparse]):
        step = now.assign_add(1)
    evict = runtime.EvictHook(evict_enable=True, evict_step_interval=5)
    _trained([evict, runtime.TableSummaryHook(tmp_path, every_steps=2)], step, 6)
    written = _written(tmp_path)
    assert written.keys() == {f"user/{what}" for what in ("rows", "waiting", "evicted", "bytes")}
    # The eviction after step 5 takes the keys last seen three steps ago or earlier: those of times 0 and 1.
    assert written["user/rows"] == {1: 1, 3: 3, 5: 3, 6: 4}
    assert written["user/waiting"] == {1: 1, 3: 3, 5: 3, 6: 4}
    assert written["user/evicted"] == {1: 0, 3: 0, 5: 2, 6: 2}
    assert all(value > 0 for value in written["user/bytes"].values())


def test_a_session_without_a_global_step_is_refused(graph: tf.Graph, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="needs a global step"):
        runtime.TableSummaryHook(tmp_path).begin()


def test_tables_of_eager_mode(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")  # which tf.summary needs, and not every TensorFlow brings
    table = make_table("eager_written")
    with tf.summary.create_file_writer(str(tmp_path)).as_default():
        runtime.sparse_lookup(table, tf.range(3, dtype=tf.int64))
        runtime.table_summaries(step=1)
    (file,) = tmp_path.iterdir()
    found = {one.tag: one for event in v1.train.summary_iterator(str(file)) for one in event.summary.value}
    assert float(tf.make_ndarray(found["eager_written/rows"].tensor)) == 3
    assert {f"eager_written/{what}" for what in ("waiting", "evicted", "bytes")} <= found.keys()
