"""Eviction: by age, steps and norm, and EvictHook in MonitoredTrainingSession and Estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad
from runtime.policy import eviction
from tests.support.runtime.tables import make_table

v1 = tf.compat.v1
CONFIG = {"access_threshold": 0, "eviction_threshold": 10}


def look(table: Any, keys: Any, time: int, **config: Any) -> np.ndarray:
    """Look keys up at a time, eagerly."""
    rules = {**CONFIG, "timestamp": tf.constant(time), **config}
    return np.asarray(runtime.sparse_lookup(table, keys, access_and_evict_config=rules))


def test_keys_that_were_not_seen_for_long_are_deleted_with_their_counters() -> None:
    table = make_table()
    rules = {"access_threshold": 2}
    look(table, [1, 1, 2, 2, 3], 100, **rules)
    look(table, [2], 105, **rules)
    assert int(runtime.evict_by_age(table)) == 0
    look(table, [4], 110, **rules)
    assert int(runtime.evict_by_age(table)) == 1  # 1 had a row, 3 none
    assert int(table.size()) == 1
    assert not look(table, [1, 3], 111, **rules).any()  # counted from zero again
    assert look(table, [1, 3], 111, **rules).all()
    assert int(runtime.evict_by_age(table, age=1, now=112)) == 3 and int(table.size()) == 0


def test_a_key_that_comes_again_starts_anew() -> None:
    table = make_table()
    optimizer = adagrad.create_hash_optimizer(0.5, 0.25)

    def step(time: int) -> np.ndarray:
        with tf.GradientTape() as tape:
            rows = runtime.sparse_lookup(table, [7], access_and_evict_config={**CONFIG, "timestamp": tf.constant(time)})
            loss = tf.reduce_sum(rows * rows)
        optimizer.apply_gradients([(tape.gradient(loss, table.variable), table.variable)])
        return np.asarray(rows)

    before = [step(1), step(2), step(3)]
    assert int(runtime.evict_by_age(table, now=100)) == 1
    after = [step(101), step(102), step(103)]
    np.testing.assert_array_equal(before, after)
    assert not np.array_equal(before[0], before[1])


def test_the_newest_time_counts_and_old_batches_do_not_turn_it_back() -> None:
    table = make_table()
    look(table, [1], 100)
    look(table, [2], 50)
    assert int(runtime.evict_by_age(table, age=1)) == 0  # both were seen at the table's time, 100
    assert int(runtime.evict_by_age(table, age=1, now=101)) == 2


def test_steps_and_norms_evict_as_deeprec_does() -> None:
    table = make_table()
    look(table, [1], 4)
    look(table, [2], 5)
    assert int(runtime.evict_by_step(table, 3, 7)) == 0  # 7 - 4 > 3 is false
    assert int(runtime.evict_by_step(table, 3, 8)) == 1
    table.import_rows([8, 9], [[2.0, 0, 0, 0], [0, 0, 0, 1.0]])
    assert int(runtime.evict_by_norm(table, 0.0)) == 0
    rows = np.asarray(runtime.sparse_lookup(table, [2], is_train=False))
    light = 1 + int(0.5 * float((rows**2).sum()) < 2)
    assert int(runtime.evict_by_norm(table, 2)) == light  # half of 2² is not below 2


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
    with pytest.raises(tf.errors.InvalidArgumentError, match="has no times of its keys' lookups"):
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


def model(keys: tf.Tensor, timestamp: tf.Tensor, is_train: bool = True) -> tuple[Any, ...]:
    """Build table, loss and train op; the timestamp goes through the collection."""
    v1.add_to_collection("ASCEND_TIMESTAMP", timestamp)
    table = make_table()
    rows = runtime.sparse_lookup(table, keys, is_train=is_train, access_and_evict_config=CONFIG)
    loss = tf.reduce_sum(rows * rows)
    step = v1.train.get_or_create_global_step()
    return table, loss, adagrad.create_hash_optimizer(0.1, 0.1).minimize(loss, step) if is_train else None


class CountRuns(v1.train.SessionRunHook):  # type: ignore[misc]
    """Counts the runs that hooks make on their own."""

    def __init__(self) -> None:
        """Start at none."""
        self.extra = 0

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Watch the raw session."""
        original = session.run

        def run(*args: Any, **kwargs: Any) -> Any:
            self.extra += 1
            return original(*args, **kwargs)

        session.run = run


def sizes_by_step(hook: runtime.EvictHook, steps: int, watch: CountRuns | None = None) -> list[int]:
    """Train with key = time = step; return the number of rows after each step."""
    with tf.Graph().as_default():
        time = v1.placeholder(tf.int64, [])
        table, _, train = model(tf.reshape(time, [1]), time)
        size = table.size()
        hooks = [hook] + ([watch] if watch else [])
        with v1.train.MonitoredTrainingSession(hooks=hooks) as opened:
            sizes = []
            for step in range(steps):
                opened.run(train, {time: step})
                sizes.append(int(opened.run_step_fn(lambda step_context: step_context.session.run(size))))
    return sizes


def test_the_hook_evicts_at_every_multiple_of_the_step_interval() -> None:
    sizes = sizes_by_step(runtime.EvictHook(True, evict_step_interval=8), 24)
    # After 16 steps the time is 15: keys up to 5 are at least 10 old. After 24 the time is 23: keys up to 13.
    assert sizes == [*range(1, 16), 10, *range(11, 18), 10]


def test_the_hook_evicts_when_time_went_by_and_restarts_its_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10**6, 10))
    monkeypatch.setattr(eviction.time, "monotonic", lambda: next(clock))
    sizes = sizes_by_step(runtime.EvictHook(True, evict_time_interval=115), 26)
    # The clock gives 0 at the start, then 10, 20 … with each run and one more with each eviction.
    assert sizes == [*range(1, 12), 10, *range(11, 22), 10, 11, 12]


def test_a_hook_that_is_not_enabled_evicts_nothing() -> None:
    assert sizes_by_step(runtime.EvictHook(evict_step_interval=1), 15) == list(range(1, 16))


def test_what_is_no_table_is_named() -> None:
    for call in (runtime.evict_by_age, lambda table: runtime.set_threshold(table, 1)):
        with pytest.raises(ValueError, match=r"para `table`: got None, must be a table made by create_table"):
            call(None)  # type: ignore[arg-type]
