"""What else a model does with a table: it moves with equal losses, or stays with a precise reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from rewriter import rewrite
from tests.support.rewriter.compare import DIM, ROWS, assert_same, head, variable

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
