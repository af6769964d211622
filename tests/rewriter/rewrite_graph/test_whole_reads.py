"""What reads a whole variable apart from training: summaries, scores, metrics. It moves, and gives what it gave."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import rewrite
from tests.support.rewriter.compare import DIM, ROWS, Inputs, head, loss_of, variable

v1 = tf.compat.v1


def _scores(table: Any, rows: Any) -> Any:
    return tf.matmul(tf.reshape(rows, [-1, DIM]), table, transpose_b=True)


def _softmax_without_padding(table: Any, rows: Any) -> Any:
    return tf.nn.softmax(tf.matmul(rows[:, 0], table[1:], transpose_b=True))


def _similarity(table: Any, rows: Any) -> Any:
    normal = table / tf.sqrt(tf.reduce_sum(tf.square(table), 1, keepdims=True))
    return tf.matmul(v1.nn.embedding_lookup(normal, [3, 1]), normal, transpose_b=True)


def _zeros(table: Any, rows: Any) -> Any:
    return tf.nn.zero_fraction(tf.nn.relu(table))


def _logged_norm(table: Any, rows: Any) -> Any:
    return tf.nn.l2_loss(table) + tf.reduce_sum(tf.abs(table))


def _elements(table: Any, rows: Any) -> Any:
    return tf.gather_nd(tf.identity(table), [[0, 1], [5, 2]])


def _padded(table: Any, rows: Any) -> Any:
    return v1.nn.embedding_lookup(tf.concat([tf.zeros([1, DIM]), table[1:]], 0), [0, 4])


def _in_branch(table: Any, rows: Any) -> Any:
    return v1.cond(tf.reduce_sum(rows) > 1e9, lambda: tf.zeros([ROWS]), lambda: tf.reduce_sum(table, 1))


def _in_function(table: Any, rows: Any) -> Any:
    v1.enable_control_flow_v2()
    return tf.nn.zero_fraction(tf.identity(table))


USES = [
    _scores,
    _softmax_without_padding,
    _similarity,
    _zeros,
    _logged_norm,
    _elements,
    _padded,
    _in_branch,
    _in_function,
]


def _trained(use: Callable[..., Any], moved: bool, **kind: Any) -> list[np.ndarray[Any, Any]]:
    """Return what a use gives after each of five steps."""
    v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            v1.set_random_seed(3)
            inputs = Inputs.make()
            table = variable(**kind)
            rows = v1.nn.embedding_lookup(table, inputs.features["ids"], "div")
            _, step = head(tf.reshape(rows, [-1, 3 * DIM]), inputs.labels, v1.train.AdamOptimizer(0.05))
            found = use(table, rows)
            if moved:
                plan = rewrite(graph)
                assert [one.rows for one in plan.tables] == [ROWS], plan.summary()
            with v1.Session() as session:
                session.run(v1.global_variables_initializer())
                read = []
                for feed in inputs.feeds(5):
                    session.run(step, feed)
                    read.append(session.run(found, feed))
        return read
    finally:
        v1.enable_control_flow_v2()


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("use", USES)
@pytest.mark.one_case
def test_reads_apart_from_the_loss_give_what_they_gave(use: Callable[..., Any], use_resource: bool) -> None:
    stock, moved = (_trained(use, moved, use_resource=use_resource) for moved in (False, True))
    for one, other in zip(stock, moved, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("read_first", [True, False])
def test_control_edges_order_reads_and_steps_as_before(use_resource: bool, read_first: bool) -> None:
    """A value that is read before the step is that of before; one that is read after it has its update."""
    found = {}
    for moved in (False, True):
        with tf.Graph().as_default() as graph:
            v1.set_random_seed(3)
            inputs = Inputs.make()
            table = variable(use_resource=use_resource)
            rows = v1.nn.embedding_lookup(table, inputs.features["ids"])
            before = tf.reduce_sum(table.read_value(), 1)
            with tf.control_dependencies([before] if read_first else []):
                _, step = head(tf.reshape(rows, [-1, 3 * DIM]), inputs.labels, v1.train.AdagradOptimizer(0.5))
            with tf.control_dependencies([step]):
                after = tf.reduce_sum(table.read_value(), 1)
            if moved:
                assert rewrite(graph).tables
            with v1.Session() as session:
                session.run(v1.global_variables_initializer())
                asked = [before, after, step] if read_first else [after, step]
                found[moved] = [session.run(asked, feed)[:-1] for feed in inputs.feeds(4)]
    np.testing.assert_allclose(found[True], found[False], rtol=1e-5, atol=1e-6)


def test_an_evaluation_graph_scores_all_rows(graph: tf.Graph) -> None:
    table = variable()
    rows = v1.nn.embedding_lookup(table, [1, 2])
    scores = tf.matmul(rows, table, transpose_b=True)
    tf.matmul(rows, table, transpose_b=True)
    (moved,) = rewrite(graph).tables
    assert {read.op for read in moved.reads} == {"MatMul", "MatMul_1"}
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        one, other = session.run([scores, rows])
        assert one.shape == (2, ROWS)
        np.testing.assert_allclose(one[:, 1:3], other @ other.T, rtol=1e-5)


def _full_softmax(table: Any, rows: Any, labels: Any) -> Any:
    logits = tf.matmul(rows[:, 0], table, transpose_b=True)
    return tf.reduce_mean(v1.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def _held_constant(table: Any, rows: Any, labels: Any) -> Any:
    return tf.reduce_sum(tf.matmul(rows[:, 0], tf.stop_gradient(table), transpose_b=True) ** 2)


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("loss", [_full_softmax, _held_constant])
def test_what_the_loss_depends_on_keeps_the_variable(
    graph: tf.Graph, loss: Callable[..., Any], use_resource: bool
) -> None:
    inputs = Inputs.make()
    table = variable(use_resource=use_resource)
    rows = v1.nn.embedding_lookup(table, inputs.features["ids"])
    more = loss(table, rows, inputs.features["ids"][:, 1])
    v1.train.AdagradOptimizer(0.1).minimize(loss_of(tf.reshape(rows, [-1, 3 * DIM]), inputs.labels) + more)
    (refusal,) = rewrite(graph).refusals
    assert re.match("(MatMul|StopGradient) `.*` uses the whole variable", refusal.reason), refusal


@pytest.mark.parametrize("write", [v1.scatter_update, v1.scatter_nd_update], ids=["scatter", "scatter_nd"])
@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
def test_what_writes_to_it_keeps_the_variable(graph: tf.Graph, write: Any, use_resource: bool) -> None:
    table = variable(use_resource=use_resource)
    v1.nn.embedding_lookup(table, [1])
    write(table, [[1]] if write is v1.scatter_nd_update else [1], tf.zeros([1, DIM]))
    assert not rewrite(graph).tables
