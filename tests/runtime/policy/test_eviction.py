"""Eviction: by age, steps and norm, and EvictHook in MonitoredTrainingSession."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad
from tests.support.runtime.tables import make_table

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
        with pytest.raises(ValueError, match=r"para `table`: got None, must be a table made by create_table"):
            call(None)  # type: ignore[arg-type]
