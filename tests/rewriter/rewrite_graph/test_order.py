"""What is read before a step and after it, what waits, and what else uses the rows."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import move_ids, rewrite
from tests.support.rewriter.compare import DIM, ROWS, both, loss_of, step_after, variable

v1 = tf.compat.v1

Built = tuple[Any, Any]


def _assert_close(stock: list[Any], moved: list[Any]) -> None:
    for one, other in zip(stock, moved, strict=True):
        for value, same in zip(one, other, strict=True):
            np.testing.assert_allclose(same, value, rtol=2e-5, atol=1e-6)


def _rows(of: Any, ids: Any) -> Any:
    return tf.reshape(v1.nn.embedding_lookup(of, ids), [-1, 3 * DIM])


@pytest.mark.parametrize("use_resource", [True, False])
@pytest.mark.parametrize("optimizer", ["Adagrad", "Adam", "GradientDescent"])
def test_a_lookup_after_the_update_reads_the_new_rows(use_resource: bool, optimizer: str) -> None:
    def build(ids: Any, labels: Any) -> Built:
        user = variable(use_resource=use_resource)
        before = _rows(user, ids)
        loss = loss_of(before, labels)
        step = getattr(v1.train, f"{optimizer}Optimizer")(0.1).minimize(loss)
        with tf.control_dependencies([step]):
            after = _rows(user, ids)
            return [loss, after, after - before], tf.identity(_rows(user, (ids + 1) % ROWS))

    stock, moved, plan = both(build)
    assert [table.name for table in plan.tables] == ["user"]
    assert min(np.abs(values[2]).max() for values in stock) > 1e-3
    _assert_close(stock, moved)


@pytest.mark.parametrize("use_resource", [True, False])
@pytest.mark.parametrize("waits", ["lookup", "read"])
def test_a_lookup_waits_for_checks(waits: str, use_resource: bool) -> None:
    with tf.Graph().as_default() as graph, v1.Session() as session:
        ids, user = v1.placeholder(tf.int64, [None]), variable(use_resource=use_resource)
        with tf.control_dependencies([v1.assert_less(ids, tf.constant(5, tf.int64))]):
            rows = tf.gather(user, ids) if waits == "lookup" else user.read_value()
        if waits == "read":  # of the variable, of which rows are taken later
            rows = tf.gather(rows, ids)
        read = rows * 2.0  # nothing but the lookup itself waits: tf.nn.embedding_lookup has an Identity that would
        assert not read.op.control_inputs
        assert rewrite(graph).tables
        session.run(v1.global_variables_initializer())
        session.run(read, {ids: [1, 2, 4]})
        with pytest.raises(tf.errors.InvalidArgumentError, match="x < y"):
            session.run(read, {ids: [1, 2, 9]})


@pytest.mark.parametrize("weighted", ["scalar first", "weights by row"])
def test_a_scatter_that_is_no_descent_is_made_as_it_is(weighted: str) -> None:
    def build(ids: Any, labels: Any) -> Built:
        centers = variable("centers")
        rows = v1.nn.embedding_lookup(centers, ids[:, 0])
        change = 0.5 * (rows - labels) if weighted == "scalar first" else (rows - labels) * (0.1 * labels * labels)
        return [rows], tf.group(v1.scatter_sub(centers, ids[:, 0], change))

    stock, moved, plan = both(build)
    assert [table.name for table in plan.tables] == ["centers"]
    _assert_close(stock, moved)


def test_a_step_that_gets_ids_twice_keeps_the_variable() -> None:
    def build(ids: Any, labels: Any) -> Built:
        user = variable()
        slot = v1.get_variable("slot", user.shape, initializer=v1.constant_initializer(0.1), use_resource=True)
        rows = tf.identity(tf.gather(user, ids[:, 0]))
        loss = loss_of(rows, labels)
        (gradient,) = tf.gradients(loss, [rows])
        step = tf.raw_ops.ResourceSparseApplyAdagrad(
            var=user.handle, accum=slot.handle, lr=0.1, grad=gradient, indices=ids[:, 0]
        )
        return [loss], step

    stock, moved, plan = both(build)
    assert not plan.tables and "may get an id twice" in plan.refusals[0].reason
    _assert_close(stock, moved)


def test_ids_and_rows_with_millions_of_ways_between_them(graph: tf.Graph) -> None:
    """The way to the ids is longer than Python's stack is deep."""
    ids = v1.placeholder(tf.int64, [None])
    for _ in range(600):
        ids = ids + 0
    rows = v1.nn.embedding_lookup(variable(), ids)
    for _ in range(24):
        rows = tf.maximum(rows, rows * 0.5)
    v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(rows))
    assert [table.name for table in rewrite(graph).tables] == ["user"]


def test_a_plain_session_refuses_feeds_that_nobody_would_read() -> None:
    with tf.Graph().as_default() as graph, v1.Session() as session:
        element = v1.data.make_one_shot_iterator(tf.data.Dataset.range(9).batch(3)).get_next()
        ids = element * 7 % ROWS
        rows = v1.nn.embedding_lookup(variable(), ids)
        rewrite(graph)
        assert move_ids(graph).moved
        session.run(v1.global_variables_initializer())
        for fed in (element, ids):
            with pytest.raises(ValueError, match="may not be fed"):
                session.run(rows, {fed: [1, 2, 3]})
        assert session.run([element, rows])[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
def test_rows_are_assigned_from_what_a_step_left(use_resource: bool) -> None:
    def build(ids: Any, labels: Any) -> Built:
        user = variable(use_resource=use_resource)
        loss = loss_of(_rows(user, ids), labels)
        with tf.control_dependencies([step_after(loss, v1.train.AdagradOptimizer(0.1))]):
            return [loss], v1.assign(user, user * 0.9).op

    stock, moved, plan = both(build, steps=5)
    assert [table.name for table in plan.tables] == ["user"]
    _assert_close(stock, moved)


def test_a_ref_variable_that_a_loop_assigns_stays(graph: tf.Graph) -> None:
    user = variable(use_resource=False)
    tf.identity(v1.nn.embedding_lookup(user, v1.placeholder(tf.int64, [None], "ids")))

    def body(count: Any) -> Any:
        with tf.control_dependencies([v1.assign(user, tf.zeros_like(user))]):
            return count + 1

    v1.disable_control_flow_v2()
    try:
        v1.while_loop(lambda count: count < 2, body, [tf.constant(0)])
    finally:
        v1.enable_control_flow_v2()
    plan = rewrite(graph)
    assert not plan.tables and "assigns it inside of a loop" in plan.summary()


def _averaged(table: Any) -> Any:
    # The first reader of a resource variable, which gives the average its initial value, is a condition.
    return v1.train.ExponentialMovingAverage(0.9).apply([table])


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
def test_uses_that_stay_name_the_op(graph: tf.Graph, use_resource: bool) -> None:
    table = variable(use_resource=use_resource)
    v1.nn.embedding_lookup(table, [1])
    _averaged(table)
    (refusal,) = rewrite(graph).refusals
    assert "uses the whole variable" in refusal.reason or "passes it to functions" in refusal.reason
    assert re.search("cond|ExponentialMovingAverage", refusal.path[-1]), refusal
    assert "test_order.py" in refusal.source
