"""Variables that only functions look up are found in them, and the reason why they stay says where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from rewriter import rewrite
from rewriter.graph.view import GraphView
from rewriter.plan.planner import make_plan

v1 = tf.compat.v1
both = pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])


def _lookup(table: Any, ids: Any) -> Any:
    return v1.nn.embedding_lookup(table, ids)


def _in_a_branch(table: Any, ids: Any) -> Any:
    return tf.cond(tf.size(ids) > 3, lambda: _lookup(table, ids), lambda: tf.zeros([tf.size(ids), 4]))


def _in_nested_branches(table: Any, ids: Any) -> Any:
    return tf.cond(tf.size(ids) > 9, lambda: tf.zeros([tf.size(ids), 4]), lambda: _in_a_branch(table, ids))


def _in_a_case(table: Any, ids: Any) -> Any:
    return tf.switch_case(tf.size(ids), [lambda: _lookup(table, ids), lambda: _lookup(table, ids + 1)])


def _in_a_loop(table: Any, ids: Any) -> Any:
    start = [tf.constant(0), tf.zeros([tf.size(ids), 4])]
    return tf.while_loop(lambda i, _: i < 3, lambda i, total: (i + 1, total + _lookup(table, ids)), start)[1]


def _in_a_function(table: Any, ids: Any) -> Any:
    return tf.function(lambda ids: _lookup(table, ids))(ids)


def _behind_a_read_in_a_branch(table: Any, ids: Any) -> Any:
    return tf.cond(tf.size(ids) > 3, lambda: tf.gather(tf.identity(table), ids), lambda: tf.zeros([tf.size(ids), 4]))


def _in_map_fn(table: Any, ids: Any) -> Any:
    return tf.map_fn(lambda one: _lookup(table, one), ids, fn_output_signature=tf.float32)


CALLS: list[tuple[Callable[[Any, Any], Any], str, str]] = [
    (_in_a_branch, "If", "before the graph is built"),
    (_in_nested_branches, "If", "before the graph is built"),
    (_in_a_case, "Case", "before the graph is built"),
    (_in_a_loop, "While", "before the graph is built"),
    (_in_map_fn, "While", "before the graph is built"),
    (_in_a_function, "PartitionedCall", "look rows up outside of the tf.function"),
    (_behind_a_read_in_a_branch, "If", "before the graph is built"),
]


@both
@pytest.mark.parametrize(("form", "kind", "remedy"), CALLS, ids=lambda given: getattr(given, "__name__", ""))
def test_a_variable_that_only_a_function_looks_up_is_found(
    graph: tf.Graph, form: Callable[[Any, Any], Any], kind: str, remedy: str, use_resource: bool
) -> None:
    table = v1.get_variable("user", [10, 4], use_resource=use_resource)
    form(table, v1.placeholder(tf.int64, [None]))
    (refusal,) = make_plan(GraphView.of(graph)).refusals
    op = graph.get_operation_by_name(refusal.path[-1])
    assert op.type.endswith(kind)
    assert refusal.path[0] == "user"
    gather = "ResourceGather" if use_resource and form is not _behind_a_read_in_a_branch else "GatherV2"
    assert f"`{op.name}` passes it to the function `" in refusal.reason
    assert f"where {gather} `" in refusal.reason
    assert remedy in refusal.reason


def test_a_variable_that_a_function_uses_whole_is_no_table(graph: tf.Graph) -> None:
    table, ids = v1.get_variable("user", [10, 4], use_resource=True), v1.placeholder(tf.int64, [None])
    rows = _in_a_function(table, ids)
    tf.function(lambda rows: tf.matmul(rows, table, transpose_b=True))(rows)
    (refusal,) = make_plan(GraphView.of(graph)).refusals
    assert "where ResourceGather `embedding_lookup` looks it up" in refusal.reason
    table = v1.get_variable("whole", [10, 4], use_resource=True)
    _lookup(table, ids)
    tf.function(lambda rows: tf.matmul(rows, table, transpose_b=True))(rows)
    *_, refusal = make_plan(GraphView.of(graph), ["user", "whole"]).refusals
    assert "where MatMul `MatMul` uses the whole variable" in refusal.reason


def test_a_variable_that_a_dataset_looks_up_is_found(graph: tf.Graph) -> None:
    table = v1.get_variable("user", [10, 4], use_resource=True)
    data = tf.data.Dataset.range(5).map(lambda one: _lookup(table, one))
    v1.data.make_initializable_iterator(data)
    (refusal,) = rewrite(graph).refusals
    assert "MapDataset" in refusal.reason
    assert "looks it up, and lookups in this function cannot be replaced: look rows up in the graph" in refusal.reason
