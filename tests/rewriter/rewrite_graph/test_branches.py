"""Lookups in the branches and loops of v1 control flow move, and train to the numbers of the stock model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tensorflow as tf

from rewriter import GraphModifierHook, rewrite
from tests.support.rewriter.compare import DIM, Inputs, head, variable

v1 = tf.compat.v1

both = pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])


@pytest.fixture(autouse=True)
def v1_control_flow() -> Iterator[None]:
    v1.disable_control_flow_v2()
    yield
    v1.enable_control_flow_v2()


def _flat(rows: Any) -> Any:
    return tf.reshape(rows, [-1, 3 * DIM])


def _lookup(table: Any, ids: Any) -> Any:
    return v1.nn.embedding_lookup(table, ids)


def _in_nested_branches(table: Any, ids: Any, labels: Any) -> Any:
    inner = lambda: v1.cond(tf.reduce_max(labels) > 1.5, lambda: _lookup(table, ids), lambda: _lookup(table, ids // 3))  # noqa: E731
    return v1.cond(tf.reduce_sum(labels) > 0, inner, lambda: 2 * _lookup(table, ids // 2))


def _in_a_branch_in_a_loop(table: Any, ids: Any, labels: Any) -> Any:
    def body(i: Any, total: Any) -> Any:
        rows = v1.cond(labels[i, 0] > 0, lambda: _lookup(table, ids), lambda: _lookup(table, ids // 2))
        return i + 1, total + rows

    return v1.while_loop(lambda i, _: i < 3, body, [tf.constant(0), tf.zeros([tf.shape(ids)[0], 3, DIM])])[1]


def _in_map_fn(table: Any, ids: Any, labels: Any) -> Any:
    return v1.map_fn(lambda one: _lookup(table, one), ids, tf.float32)


def _exported_loop(form: Callable[..., Any], use_resource: bool) -> tuple[Any, Any]:
    with tf.Graph().as_default() as graph:
        v1.set_random_seed(1)
        ids, labels = v1.placeholder(tf.int64, [None, 3], "ids"), v1.placeholder(tf.float32, [None, 1], "labels")
        rows = form(variable(use_resource=use_resource), ids, labels)
        head(_flat(rows), labels, v1.train.AdagradOptimizer(0.1))
        return graph.as_graph_def(), v1.train.export_meta_graph()


@both
def test_a_loop_in_an_imported_graph_stays_since_nothing_can_be_built_in_it(
    graph: tf.Graph, use_resource: bool
) -> None:
    definition, _ = _exported_loop(_in_map_fn, use_resource)
    tf.import_graph_def(definition, name="")
    (refusal,) = rewrite(graph).refusals
    assert "passes it into a loop that cannot be extended: import the graph with tf.compat" in refusal.reason
    assert graph.get_operation_by_name(refusal.path[-1]).type in ("Enter", "RefEnter")


@both
@pytest.mark.parametrize("form", [_in_nested_branches, _in_map_fn, _in_a_branch_in_a_loop])
@pytest.mark.one_case
def test_control_flow_is_proved(form: Callable[..., Any], use_resource: bool) -> None:
    with tf.Graph().as_default():
        inputs = Inputs.make()
        rows = form(variable(use_resource=use_resource), inputs.features["ids"], inputs.labels)
        fetches = head(_flat(rows), inputs.labels, v1.train.AdagradOptimizer(0.1))
        hook = GraphModifierHook(verify=3)
        with v1.train.MonitoredSession(hooks=[hook]) as session:
            for feed in inputs.feeds(4):
                session.run(fetches, feed)
    assert hook.proof is not None
    assert hook.proof.ok


@both
def test_a_table_that_a_branch_chooses_is_refused_and_not_passed_over(graph: tf.Graph, use_resource: bool) -> None:
    one, other, ids = variable("one", use_resource), variable("other", use_resource), v1.placeholder(tf.int64, [None])
    chosen = v1.cond(tf.size(ids) > 3, lambda: tf.identity(one), lambda: tf.identity(other))
    tf.gather(chosen, ids)
    plan = rewrite(graph)
    assert [refusal.table for refusal in plan.refusals] == ["one", "other"]
    assert all("Merge `cond/Merge` uses the whole variable" in refusal.reason for refusal in plan.refusals)


@both
def test_a_table_that_goes_round_a_loop_is_refused_and_not_passed_over(graph: tf.Graph, use_resource: bool) -> None:
    table, ids = variable("one", use_resource), v1.placeholder(tf.int64, [None])

    def body(i: Any, rows: Any, total: Any) -> Any:
        return i + 1, rows, total + tf.reduce_sum(tf.gather(rows, ids))

    v1.while_loop(lambda i, *_: i < 3, body, [0, tf.convert_to_tensor(table), 0.0])
    (refusal,) = rewrite(graph).refusals
    assert "uses the whole variable" in refusal.reason
