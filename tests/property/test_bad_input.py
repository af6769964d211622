"""Whatever is wrong with a call, it says so and leaves every row as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.native import ops
from tests.support.property.world import Driver, world

v1 = tf.compat.v1
INVALID = tf.errors.InvalidArgumentError
KEYS = [1, -(2**63), 7, 7]


@pytest.fixture
def driver() -> Iterator[Driver]:
    """A table of width 3 with trained rows."""
    made = world(3, "adagrad")
    with made.graph.as_default(), v1.Session() as session:
        trained = Driver(made, session)
        trained.step(KEYS, np.ones((4, 3), np.float32), 0.5)
        trained.look_up([99], insert=True)
        yield trained


def _wrong_feeds(driver: Driver) -> dict[str, tuple[Any, dict[Any, Any]]]:
    made, rows = driver.world, np.ones((3, 3), np.float32)
    two = np.array([1, 500])
    return {
        "update: fewer keys": (made.updated, {made.keys: two, made.values: rows, made.rate: 0.1}),
        "update: more keys": (made.updated, {made.keys: two, made.values: rows[:1], made.rate: 0.1}),
        "import: fewer keys": (made.imported, {made.keys: two, made.values: rows}),
        "pool: splits beyond the ids": (made.pooled_rows, {made.keys: two, made.splits: [0, 9]}),
        "pool: splits that go back": (made.pooled_rows, {made.keys: two, made.splits: [0, 2, 1, 2]}),
        "pool: splits that begin late": (made.pooled_rows, {made.keys: two, made.splits: [1, 2]}),
        "pool: splits that end early": (made.pooled_rows, {made.keys: two, made.splits: [0, 1]}),
    }


def test_wrong_shapes_change_nothing(driver: Driver) -> None:
    for what, (fetched, feed) in _wrong_feeds(driver).items():
        with pytest.raises(INVALID):
            driver.session.run(fetched, feed)
            pytest.fail(what)
        driver.check()


def _calls(handle: Any) -> dict[str, Callable[[], Any]]:
    keys, rows, anchor = tf.constant([1], tf.int64), tf.zeros([1, 3]), tf.zeros([0, 3])
    meta = tf.constant([1, 7, 3, 0, 0], tf.int64)
    return {
        "lookup": lambda: ops().rec_lookup(handle, anchor, keys, []),
        "lookup_or_insert": lambda: ops().rec_lookup_or_insert(handle, anchor, keys, []),
        "group": lambda: ops().rec_lookup_group([handle], [anchor], [keys], [])[0],
        "size": lambda: ops().rec_table_size(handle),
        "snapshot": lambda: ops().rec_table_snapshot(handle)[0],
        "import": lambda: ops().rec_table_import(handle, keys, rows, tf.zeros([1, 0]), meta),
        "merge": lambda: ops().rec_table_merge(handle, keys, rows, tf.zeros([1, 0]), meta),
        "upsert": lambda: ops().rec_table_upsert(handle, keys, rows),
        "remove": lambda: ops().rec_table_remove(handle, keys),
        "reset": lambda: ops().rec_table_reset(handle),
        "start slot": lambda: ops().rec_table_start_slot(handle, 0, 0, 1.0),
    }


@pytest.mark.parametrize("call", list(_calls(0)))
def test_every_op_refuses_a_handle_that_is_none(call: str) -> None:
    with tf.Graph().as_default():
        with v1.Session() as closed:
            made = ops().rec_table_handle(table_name="t", dim=3, seed=1, initializer="3:constant:0.0:0.0")
            closed.run(_calls(made)[call]())
            stale = int(closed.run(made))
        del closed
    for handle in (stale, 0, -1, 12345):
        with (
            tf.Graph().as_default(),
            v1.Session() as session,
            pytest.raises(INVALID, match=rf"its handle is {handle}\)"),
        ):
            session.run(_calls(tf.constant(handle, tf.int64))[call]())
