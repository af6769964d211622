"""Within one session.run an update runs after the lookups of its step, and forces no other input."""

from __future__ import annotations

import time

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import gradient_descent
from tests.support.runtime.tables import make_table, rows_of, session

pytestmark = pytest.mark.usefixtures("graph")


def _minimize(table: runtime.Table, rows: tf.Tensor) -> tf.Operation:
    return gradient_descent.create_hash_optimizer(1.0).minimize(tf.reduce_sum(rows), var_list=[table.variable])


def test_lookups_made_before_and_after_the_update_see_the_old_rows() -> None:
    table = make_table(initializer=tf.constant_initializer(1.0))
    ids = tf.compat.v1.placeholder(tf.int64, [None])
    before = runtime.sparse_lookup(table, tf.reverse(ids, [0]), is_grad=False)
    train = _minimize(table, runtime.sparse_lookup(table, ids))
    after = runtime.sparse_lookup(table, ids, is_train=False)
    assert len(table.lookups) == 3
    assert set(table.lookups) <= set(table.updates[0].control_inputs)
    with session() as opened:
        for step in range(50):
            early, late, _ = opened.run([before, after, train], {ids: np.arange(100)})
            assert early.max() == early.min() == late.min() == late.max() == 1.0 - step


@pytest.mark.parametrize("late", [True, False])
def test_checks_of_a_branch_do_not_take_it_out_of_the_step(late: bool) -> None:
    table = make_table(initializer=tf.constant_initializer(1.0))
    ids = tf.compat.v1.placeholder(tf.int64, [None])

    def pooled() -> tf.Tensor:
        rows = tf.RaggedTensor.from_row_splits(ids, [0, 100])  # asserts that the splits fit
        checked = rows.with_values(tf.compat.v1.Print(rows.values, [tf.size(ids)], first_n=0))
        return runtime.embedding_lookup_sparse(table, checked, None, combiner="mean")

    evaluation = None if late else pooled()
    train = _minimize(table, runtime.sparse_lookup(table, ids))
    evaluation = pooled() if evaluation is None else evaluation
    assert len(table.lookups) == 2
    assert set(table.lookups) <= set(table.updates[0].control_inputs)
    with session() as opened:
        for step in range(20):
            assert opened.run([evaluation, train], {ids: np.arange(100)})[0].max() == 1.0 - step


def test_a_lookup_after_the_update_sees_the_new_rows() -> None:
    table = make_table(initializer=tf.constant_initializer(1.0))
    train = _minimize(table, runtime.sparse_lookup(table, [1]))
    with tf.control_dependencies([train]):
        after = runtime.sparse_lookup(table, [1])
    assert after.op not in table.updates[0].control_inputs
    with session() as opened:
        assert [opened.run(after)[0, 0] for _ in range(3)] == [0.0, -1.0, -2.0]


def test_training_does_not_eat_the_data_of_another_iterator() -> None:
    table = make_table()
    data = tf.data.Dataset.range(5)
    first, second = (tf.compat.v1.data.make_one_shot_iterator(data).get_next() for _ in range(2))
    train = _minimize(table, runtime.sparse_lookup(table, first))
    evaluation = runtime.sparse_lookup(table, second + 100, is_train=False)
    with session() as opened:
        opened.run(train)
        opened.run(train)
        assert opened.run([second, evaluation])[0] == 0
        np.testing.assert_array_equal(opened.run(table.snapshot()[0]), [0, 1])


@pytest.mark.parametrize("reads", [0, 1])
def test_ids_out_of_a_v1_loop_know_the_sources_inside(reads: int) -> None:
    tf.compat.v1.disable_control_flow_v2()
    try:
        table = make_table()
        feeds = [tf.compat.v1.placeholder(tf.int64, []) for _ in range(2)]

        def exchanged(i: tf.Tensor, one: tf.Tensor, two: tf.Tensor) -> tuple[tf.Tensor, ...]:
            return i + 1, two, one

        looped = tf.compat.v1.while_loop(lambda i, *_: i < 3, exchanged, [tf.constant(0, tf.int64), *feeds])
        for each in (1, 2, 1):
            runtime.sparse_lookup(table, [looped[each]])
        train = _minimize(table, runtime.sparse_lookup(table, [feeds[reads]]))
    finally:
        tf.compat.v1.enable_control_flow_v2()
    with session() as opened:
        opened.run(train, {feeds[reads]: 1})  # the other is not demanded
        assert opened.run(table.size()) == 1


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_rate_of_the_tables_own_is_that_of_the_step_that_runs(use_resource: bool) -> None:
    v1 = tf.compat.v1
    table = make_table(initializer=tf.constant_initializer(0.0))
    step = v1.get_variable("step", initializer=np.int64(0), trainable=False, use_resource=use_resource)
    scale = v1.get_variable("scale", initializer=1.0)
    loss = tf.reduce_sum(runtime.sparse_lookup(table, tf.constant([1], tf.int64))) + scale
    dense = v1.train.GradientDescentOptimizer(0.1)
    with tf.control_dependencies([tf.numpy_function(lambda: time.sleep(0.02), [], [])]):
        late = tf.cast(tf.identity(step), tf.float32)  # read long after the dense half could have counted
    sparse = gradient_descent.create_hash_optimizer(1.0 + late)
    train = tf.group(
        dense.apply_gradients(dense.compute_gradients(loss, [scale]), step),
        sparse.apply_gradients(sparse.compute_gradients(loss, [table.variable])),
    )
    with session() as opened:
        for _ in range(3):
            opened.run(train)
        np.testing.assert_array_equal(rows_of(opened, table, [1]), np.full([1, 4], -(1.0 + 2.0 + 3.0)))


def test_counting_alone_asks_for_no_feed_and_initializing_for_no_rate() -> None:
    v1 = tf.compat.v1
    table = make_table()
    step = v1.train.create_global_step()
    rate = v1.placeholder(tf.float32, [])
    sparse = gradient_descent.create_hash_optimizer(rate / tf.cast(step + 1, tf.float32))
    count = v1.assign_add(step, 1)
    sparse.minimize(tf.reduce_sum(runtime.sparse_lookup(table, tf.constant([1], tf.int64))))
    with session() as opened:
        assert opened.run(count) == 1
