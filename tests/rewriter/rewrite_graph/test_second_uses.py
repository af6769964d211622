"""What else a model does with a table: it moves with equal losses, or stays with a precise reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import rewrite
from tests.support.rewriter.compare import BATCH, DIM, ROWS, Inputs, assert_same, head, loss_of, variable

v1 = tf.compat.v1


def _flat(rows: Any) -> Any:
    return tf.reshape(rows, [-1, 3 * DIM])


def _checked(table: Any, rows: Any) -> Any:
    return tf.debugging.check_numerics(rows, "rows")


def _stopped(table: Any, rows: Any) -> Any:
    return rows + tf.stop_gradient(2 * rows)


def _by_size(table: Any, rows: Any) -> Any:
    return rows * tf.cast(tf.raw_ops.Size(input=table), tf.float32) / (ROWS * DIM)


def _by_rank(table: Any, rows: Any) -> Any:
    return rows * tf.cast(tf.raw_ops.Rank(input=table), tf.float32)


def _by_shape(table: Any, rows: Any) -> Any:
    return rows * tf.cast(tf.shape(table)[1], tf.float32) * table.shape[1]


def _with_summaries(table: Any, rows: Any) -> Any:
    v1.summary.histogram("rows", rows)
    v1.summary.histogram("table", table)
    return rows


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("use", [_checked, _stopped, _by_size, _by_rank, _by_shape, _with_summaries])
@pytest.mark.one_case
def test_uses_that_move(use: Callable[[Any, Any], Any], use_resource: bool) -> None:
    def build(features: Any, labels: Any) -> Any:
        table = variable(use_resource=use_resource)
        rows = use(table, v1.nn.embedding_lookup(table, features["ids"]))
        return head(_flat(rows), labels, v1.train.AdagradOptimizer(0.1))

    assert_same(build, "user")


@pytest.mark.parametrize(
    "optimizer", [v1.train.AdamOptimizer(0.01), v1.train.AdagradOptimizer(0.1)], ids=["adam", "adagrad"]
)
@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.one_case
def test_regularisation_of_rows_looked_up_and_clipping(optimizer: Any, use_resource: bool) -> None:
    def build(features: Any, labels: Any) -> Any:
        rows = v1.nn.embedding_lookup(variable(use_resource=use_resource), features["ids"])
        loss = loss_of(_flat(rows), labels) + 0.1 * tf.nn.l2_loss(rows) / BATCH
        pairs = optimizer.compute_gradients(loss)
        clipped, norm = tf.clip_by_global_norm([gradient for gradient, _ in pairs], 0.5)
        v1.summary.scalar("norm", norm)
        step = v1.train.get_or_create_global_step()
        return loss, optimizer.apply_gradients(zip(clipped, [one for _, one in pairs], strict=True), step)

    assert_same(build, "user")


@pytest.mark.parametrize("parts", [0, 3], ids=["whole", "parts"])
@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.one_case
def test_a_histogram_of_the_table_is_that_of_the_variable(use_resource: bool, parts: int) -> None:
    found = {}
    for moved in (False, True):
        with tf.Graph().as_default() as graph:
            v1.set_random_seed(3)
            inputs = Inputs.make()
            table = variable(use_resource=use_resource, partitioner=v1.fixed_size_partitioner(parts) if parts else None)
            rows = v1.nn.embedding_lookup(table, inputs.features["ids"], "mod")
            _, step = head(_flat(rows), inputs.labels, v1.train.AdamOptimizer(0.01))
            merged = [v1.summary.histogram(one.op.name, one) for one in (table if parts else [table])]
            if moved:
                assert [one.name for one in rewrite(graph).tables] == ["user"]
            with v1.Session() as session:
                session.run(v1.global_variables_initializer())
                for feed in inputs.feeds(5):
                    session.run(step, feed)
                summaries = [v1.Summary.FromString(text) for text in session.run(merged)]
            found[moved] = [list(summary.value[0].histo.bucket) for summary in summaries]
            sums = [summary.value[0].histo.sum for summary in summaries]
            found[f"sums {moved}"] = sums
    assert found[True] == found[False]
    np.testing.assert_allclose(found["sums True"], found["sums False"], rtol=1e-4)


def test_no_step_reads_the_whole_table_for_a_summary(graph: tf.Graph) -> None:
    table = variable()
    rows = v1.nn.embedding_lookup(table, [1, 2])
    v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(rows))
    summary = v1.summary.histogram("table", table)
    rewrite(graph)
    read = summary.op.inputs[1].op
    (update,) = (op for op in graph.get_operations() if op.type == "RecApply")
    assert read not in {one for op in (update, *(tensor.op for tensor in update.inputs)) for one in op.control_inputs}


def _averaged(table: Any) -> Any:
    # The first reader of a resource variable, which gives the average its initial value, is a condition.
    return v1.train.ExponentialMovingAverage(0.9).apply([table])


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
def test_uses_that_stay_name_the_op(graph: tf.Graph, use_resource: bool) -> None:
    table = variable(use_resource=use_resource)
    v1.nn.embedding_lookup(table, [1])
    _averaged(table)
    (refusal,) = rewrite(graph).refusals
    assert "uses the whole variable" in refusal.reason or "calls functions with it" in refusal.reason
    assert re.search("cond|ExponentialMovingAverage", refusal.path[-1]), refusal
    assert "test_second_uses.py" in refusal.source
