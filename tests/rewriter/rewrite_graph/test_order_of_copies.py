"""What a padded copy and a read of all rows wait for, also where only constants built beside them have the waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import rewrite
from rewriter.plan.plan import Plan
from tests.support.rewriter.compare import DIM, Inputs, loss_of, variable

v1 = tf.compat.v1
KINDS = pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
#: Builds what follows a step of the variable; returns what is fetched after the step, and the step with it.
Follows = Callable[[Any, Any], tuple[Any, Any]]


@pytest.fixture(autouse=True)
def _v1_control_flow() -> Iterator[None]:
    enabled = v1.control_flow_v2_enabled()
    v1.disable_control_flow_v2()
    yield
    if enabled:
        v1.enable_control_flow_v2()


def _trained(follows: Follows, use_resource: bool, moved: bool) -> tuple[list[Any], Plan | None]:
    """Return losses and rows of five steps."""
    with tf.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(3)
        inputs = Inputs.make()
        table = variable(use_resource=use_resource)
        rows = v1.nn.embedding_lookup(table, inputs.features["ids"])
        loss = loss_of(tf.reshape(rows, [-1, 3 * DIM]), inputs.labels)
        with tf.control_dependencies([loss]):
            pairs = v1.train.AdagradOptimizer(0.1).compute_gradients(loss)
            step = v1.train.AdagradOptimizer(0.1).apply_gradients(pairs)
        found, last = follows(table, step)
        start = v1.global_variables_initializer()
        plan = rewrite() if moved else None
        session.run(start)
        return [session.run([loss, found, last], feed)[:2] for feed in inputs.feeds(5)], plan


def _assert_same(follows: Follows, use_resource: bool) -> None:
    stock, _ = _trained(follows, use_resource, moved=False)
    found, plan = _trained(follows, use_resource, moved=True)
    assert plan is not None
    assert [one.name for one in plan.tables] == ["user"], plan.summary()
    for one, other in zip(stock, found, strict=True):
        np.testing.assert_allclose(other[0], one[0], rtol=1e-5)
        np.testing.assert_allclose(other[1], one[1], atol=1e-5)


@KINDS
def test_rows_are_assigned_from_what_a_step_left(use_resource: bool) -> None:
    def decayed(table: Any, step: Any) -> tuple[Any, Any]:
        with tf.control_dependencies([step]):
            return tf.constant(0.0), v1.assign(table, table * 0.9).op

    _assert_same(decayed, use_resource)


@KINDS
def test_a_moving_average_of_a_table(use_resource: bool) -> None:
    """It begins with `initialized_value()`, which reads the rows in a branch that the first run does not take."""

    def averaged(table: Any, step: Any) -> tuple[Any, Any]:
        average = tf.train.ExponentialMovingAverage(0.9)
        with tf.control_dependencies([step]):
            last = average.apply([table])
        with tf.control_dependencies([last]):
            return average.average(table) + 0.0, last

    _assert_same(averaged, use_resource)


@KINDS
@pytest.mark.parametrize(
    "padding",
    [
        lambda table: tf.concat([tf.zeros([1, DIM]), table[1:]], 0),
        lambda table: tf.concat([tf.zeros([2, DIM]), table], 0),
        lambda table: tf.concat([table, tf.zeros([2, DIM])], 0),
    ],
    ids=["rows", "before", "behind"],
)
def test_a_padded_copy_is_made_after_the_step(padding: Callable[[Any], Any], use_resource: bool) -> None:
    with tf.Graph().as_default() as graph:
        table, ids = variable(use_resource=use_resource), v1.placeholder(tf.int64, [None], "ids")
        loss = tf.reduce_sum(tf.square(v1.nn.embedding_lookup(table, ids)))
        step = v1.train.AdagradOptimizer(0.1).minimize(loss)
        with tf.control_dependencies([step]):
            copy = padding(table)
        found = tf.identity(tf.gather(copy, ids))
        assert [one.name for one in rewrite().tables] == ["user"]
        (update,) = (one.name for one in graph.get_operations() if one.type == "RecApply")
        assert update in _before(found.op)


def _before(op: tf.Operation) -> set[str]:
    """Return the names of all ops that run before an op."""
    pending, known = [op], {op.name}
    while pending:
        one = pending.pop()
        new = [other for other in (*(given.op for given in one.inputs), *one.control_inputs) if other.name not in known]
        known.update(other.name for other in new)
        pending += new
    return known


def test_a_ref_variable_that_a_loop_assigns_stays() -> None:
    with tf.Graph().as_default():
        table = variable(use_resource=False)
        tf.identity(v1.nn.embedding_lookup(table, v1.placeholder(tf.int64, [None], "ids")))

        def body(count: Any) -> Any:
            with tf.control_dependencies([v1.assign(table, tf.zeros_like(table))]):
                return count + 1

        v1.while_loop(lambda count: count < 2, body, [tf.constant(0)])
        plan = rewrite()
        assert not plan.tables
        assert "assigns it inside of a loop" in plan.summary()
