"""A table belongs to a session; the init op empties it; MonitoredTrainingSession saves and resumes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import lazy_adam
from tests.support.runtime.tables import make_table, session

v1 = tf.compat.v1


def test_sessions_of_one_graph_have_tables_of_their_own(graph: tf.Graph) -> None:
    table = make_table()
    look = runtime.sparse_lookup(table, [1, 2, 3])
    with session() as one, session() as other:
        one.run(look)
        assert (one.run(table.size()), other.run(table.size())) == (3, 0)


def test_a_table_is_used_after_the_init_op_as_any_variable_is(graph: tf.Graph) -> None:
    table = make_table()
    look = runtime.sparse_lookup(table, [1])
    with v1.Session() as opened:
        for fetch in (look, table.size(), table.import_rows([1], np.ones((1, 4)))):
            with pytest.raises(tf.errors.FailedPreconditionError, match=r"user.*uninitialized"):
                opened.run(fetch)


def test_imported_rows(graph: tf.Graph) -> None:
    table = make_table(dim=2)
    with session() as opened:
        opened.run(table.import_rows(tf.constant([3, 4], tf.int32), [[1.0, 2.0], [3.0, 4.0]]))
        opened.run(table.import_rows([4], [[5.0, 6.0]]))
        keys, values, slots, meta = opened.run(table.snapshot())
    assert (keys.tolist(), values.tolist()) == ([3, 4], [[1.0, 2.0], [5.0, 6.0]])
    assert slots.shape == (2, 0)
    assert meta[1] == table.seed


@pytest.mark.parametrize(
    ("keys", "values", "message"),
    [
        ([1.5], [[1.0, 2.0]], "`keys` of rows for the table `user` are float32: they must be int32 or int64"),
        (["a"], [[1.0, 2.0]], "`keys` of rows for the table `user` are string"),
        ([[1]], [[1.0, 2.0]], r"`keys` of rows for the table `user` have shape \(1, 1\): they must be \[n\]"),
        ([1], [[1.0, 2.0, 3.0]], r"`values` of rows for the table `user` have shape \(1, 3\): they must be \[1, 2\]"),
        ([1, 2], [[1.0, 2.0]], r"`values` .* have shape \(1, 2\): they must be \[2, 2\]"),
    ],
)
@pytest.mark.usefixtures("graph")
def test_rows_that_do_not_fit_are_refused_by_name(keys: Any, values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_table(dim=2).import_rows(keys, values)


def _train(directory: Path, steps: int) -> dict[str, np.ndarray]:
    """Train to `steps` in a MonitoredTrainingSession and return the state of everything at the end."""
    with tf.Graph().as_default():
        v1.set_random_seed(3)
        table = make_table(initializer=v1.random_normal_initializer(stddev=0.1))
        step = v1.train.get_or_create_global_step()
        rows = runtime.sparse_lookup(table, tf.range(3, dtype=tf.int64) + step)
        optimizer = lazy_adam.create_hash_optimizer(0.05)
        train = optimizer.minimize(tf.reduce_sum(tf.sin(rows)), global_step=step)
        keys, values, slots, _ = table.snapshot()
        state = {"keys": keys, "values": values, "slots": slots, "step": step.read_value()}
        state["powers"] = tf.stack([power.read_value() for power in optimizer.variables()])
        hooks = [v1.train.StopAtStepHook(last_step=steps)]
        with v1.train.MonitoredTrainingSession(
            checkpoint_dir=str(directory),
            hooks=hooks,
            save_checkpoint_steps=2,
            save_summaries_steps=0,
            log_step_count_steps=0,
        ) as opened:
            while not opened.should_stop():
                opened.run(train)
                result: dict[str, np.ndarray] = opened.run_step_fn(lambda step_context: step_context.session.run(state))
        return result


def test_monitored_session_resumes_where_it_stopped(tmp_path: Path) -> None:
    straight = _train(tmp_path / "straight", 7)
    _train(tmp_path / "stopped", 4)
    resumed = _train(tmp_path / "stopped", 7)
    assert straight["step"] == resumed["step"] == 7
    assert sorted(straight["keys"]) == list(range(9))
    for name, expected in straight.items():
        np.testing.assert_array_equal(resumed[name], expected, err_msg=name)
    assert np.abs(straight["slots"]).max() > 0
    np.testing.assert_allclose(straight["powers"], [0.9**8, 0.999**8], rtol=1e-5)
