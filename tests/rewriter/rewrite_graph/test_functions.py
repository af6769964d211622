"""Lookups in functions and v2 control flow move: the calls are inlined first, and losses are those of stock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import rewrite
from rewriter.checks.invariants import RewriteError
from tests.support.rewriter.compare import DIM, assert_same, both, head, variable

v1 = tf.compat.v1
each_kind = pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])


def _lookup(table: Any, ids: Any) -> Any:
    return v1.nn.embedding_lookup(table, ids)


def _zeros(ids: Any) -> Any:
    return tf.zeros([tf.shape(ids)[0], 3, DIM])


def _in_branches(table: Any, ids: Any, labels: Any) -> Any:
    return v1.cond(tf.reduce_sum(labels) > 0, lambda: _lookup(table, ids), lambda: 2 * _lookup(table, ids // 2))


def _in_one_branch(table: Any, ids: Any, labels: Any) -> Any:
    return v1.cond(tf.reduce_sum(labels) > 0, lambda: _zeros(ids) + 1, lambda: tf.tanh(_lookup(table, ids)))


def _in_a_case(table: Any, ids: Any, labels: Any) -> Any:
    index = tf.cast(tf.reduce_sum(labels), tf.int32)
    return tf.switch_case(index, [lambda i=i: (i + 1.0) * _lookup(table, ids // (i + 1)) for i in range(3)])


def _in_a_function(table: Any, ids: Any, labels: Any) -> Any:
    return tf.function(lambda ids: tf.tanh(_lookup(table, ids)))(ids)


def _in_a_function_in_a_function(table: Any, ids: Any, labels: Any) -> Any:
    return tf.function(lambda ids: 2 * _in_a_function(table, ids, labels))(ids)


def _in_a_branch_of_a_function(table: Any, ids: Any, labels: Any) -> Any:
    return tf.function(lambda ids, labels: _in_branches(table, ids, labels))(ids, labels)


TRAINED = [
    _in_branches, _in_one_branch, _in_a_case, _in_a_function, _in_a_function_in_a_function,
    _in_a_branch_of_a_function,
]  # fmt: skip


@each_kind
@pytest.mark.parametrize("form", TRAINED, ids=lambda form: form.__name__)
@pytest.mark.parametrize("rule", [v1.train.AdagradOptimizer, v1.train.AdamOptimizer], ids=["adagrad", "adam"])
@pytest.mark.one_case
def test_functions_that_look_up_train(form: Callable[..., Any], rule: Any, use_resource: bool) -> None:
    def build(features: Any, labels: Any) -> Any:
        rows = form(variable(use_resource=use_resource), features["ids"], labels)
        return head(tf.reshape(rows, [-1, 3 * DIM]), labels, rule(0.05))

    assert_same(build, "user")


def _in_a_loop(table: Any, ids: Any, labels: Any) -> Any:
    def body(i: Any, total: Any) -> Any:
        return i + 1, total + _lookup(table, ids // tf.cast(i + 1, tf.int64))

    return tf.while_loop(lambda i, _: i < 3, body, [tf.constant(0), _zeros(ids)])[1]


def _in_map_fn(table: Any, ids: Any, labels: Any) -> Any:
    return tf.map_fn(lambda one: _lookup(table, one), ids, fn_output_signature=tf.float32)


def _in_a_loop_in_a_branch(table: Any, ids: Any, labels: Any) -> Any:
    return v1.cond(tf.reduce_sum(labels) > 0, lambda: _in_a_loop(table, ids, labels), lambda: _lookup(table, ids))


LOOPS = [_in_a_loop, _in_map_fn, _in_a_loop_in_a_branch]


@each_kind
@pytest.mark.parametrize("form", [*TRAINED, *LOOPS], ids=lambda form: form.__name__)
def test_functions_that_look_up_read(form: Callable[..., Any], use_resource: bool) -> None:
    def build(ids: Any, labels: Any) -> Any:
        return tf.identity(form(variable(use_resource=use_resource), ids, labels)), tf.no_op()

    stock, moved, plan = both(build, steps=6)
    assert [table.name for table in plan.tables] == ["user"], plan.summary()
    np.testing.assert_array_equal(stock, moved)


def _with_a_function(graph: tf.Graph, **settings: Any) -> tuple[Any, Any, Any]:
    ids = v1.placeholder(tf.int64, [None, 3], "ids")
    call = tf.function(lambda ids: _lookup(table, ids), **settings)
    table = variable()
    return ids, table, call(ids)


def test_nothing_is_inlined_for_a_variable_that_stays(graph: tf.Graph) -> None:
    _, table, rows = _with_a_function(graph)
    scores = tf.matmul(rows[:, 0], table, transpose_b=True, name="scores")
    v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(scores), var_list=[table])
    before = graph.as_graph_def()
    (refusal,) = rewrite(graph).refusals
    assert "scores" in refusal.path or "passes it to the function" in refusal.reason
    assert graph.as_graph_def() == before


def test_what_xla_compiles_stays(graph: tf.Graph) -> None:
    _with_a_function(graph, jit_compile=True)
    (refusal,) = rewrite(graph).refusals
    assert (
        "looks it up, and lookups in this function cannot be replaced: look rows up outside of the tf.function"
        in refusal.reason
    )


def test_inlining_that_fails_a_check_is_taken_back(graph: tf.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    _with_a_function(graph)
    before = {node.name: node for node in graph.as_graph_def().node}

    def fail(*_: Any) -> None:
        raise RewriteError("no")

    monkeypatch.setattr("rewriter.rewrite_graph.check", fail)
    with pytest.raises(RewriteError, match="no"):
        rewrite(graph)
    after = {node.name: node for node in graph.as_graph_def().node}
    assert all(after[name] == node for name, node in before.items())
