"""What stays a variable, and the reason with the way to the op at fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from rewriter import rewrite

v1 = tf.compat.v1


def _trained(table: Any, rows: Any) -> Any:
    loss = tf.reduce_sum(tf.matmul(rows, table, transpose_b=True, name="scores"))
    return v1.train.GradientDescentOptimizer(0.1).minimize(loss)


def _along_columns(table: Any, rows: Any) -> Any:
    return tf.gather(table, [0], axis=1, name="columns")


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize(("use", "at"), [(_trained, "scores"), (_along_columns, "columns")])
def test_a_table_that_is_used_whole_stays(
    graph: tf.Graph, use: Callable[[Any, Any], Any], at: str, use_resource: bool
) -> None:
    table = v1.get_variable("user", [10, 4], use_resource=use_resource)
    rows = v1.nn.embedding_lookup(table, v1.placeholder(tf.int64, [None]))
    use(table, rows)
    before = graph.as_graph_def()
    plan = rewrite(graph)
    assert plan.tables == ()
    (refusal,) = plan.refusals
    assert refusal.table == "user"
    assert refusal.path[0] == "user"
    assert refusal.path[-1] == at
    assert graph.as_graph_def() == before


def test_a_variable_that_no_table_could_hold_stays(graph: tf.Graph) -> None:
    v1.nn.embedding_lookup(v1.get_variable("user", [10, 4], tf.float64), v1.placeholder(tf.int64, [None]))
    (refusal,) = rewrite(graph).refusals
    assert "its type is float64, and a table holds float32" in str(refusal)


def test_an_update_that_nobody_knows_is_named(graph: tf.Graph) -> None:
    table = v1.get_variable("user", [10, 4], use_resource=True)
    ids = v1.placeholder(tf.int64, [None])
    v1.nn.embedding_lookup(table, ids)
    table.assign_sub(0.1 * table, name="mine")
    (refusal,) = rewrite(graph).refusals
    assert "AssignSubVariableOp `mine` changes all its rows, and is no step that a table has" in str(refusal)


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
def test_an_optimizer_that_tables_do_not_have_is_named(graph: tf.Graph, use_resource: bool) -> None:
    table = v1.get_variable("user", [10, 4], use_resource=use_resource)
    loss = tf.reduce_sum(v1.nn.embedding_lookup(table, v1.placeholder(tf.int64, [None])) ** 2)
    (gradient,) = tf.gradients(loss, [table])
    kind = tf.raw_ops.ResourceApplyPowerSign if use_resource else tf.raw_ops.ApplyPowerSign
    slot = v1.get_variable("slot", [10, 4], use_resource=use_resource)
    given = [one.handle if use_resource else one._ref() for one in (table, slot)]
    kind(var=given[0], m=given[1], lr=0.1, logbase=1.0, sign_decay=1.0, beta=0.9, grad=tf.convert_to_tensor(gradient))
    (refusal,) = rewrite(graph).refusals
    assert refusal.reason.startswith("PowerSign `")
    assert "which tables do not have: train it with SGD, Momentum" in refusal.reason


@pytest.mark.skipif(not hasattr(tf, "estimator"), reason="Keras 2 comes with TensorFlow up to 2.15")
@pytest.mark.parametrize("kind", ["RMSprop", "Nadam"])
def test_slots_are_not_counted_as_variables(graph: tf.Graph, kind: str) -> None:
    """The steps of these optimizers look up rows of their slots."""
    table = v1.get_variable("user", [10, 4], use_resource=True)
    loss = tf.reduce_sum(v1.nn.embedding_lookup(table, v1.placeholder(tf.int64, [None])) ** 2)
    trainer = getattr(tf.keras.optimizers.legacy, kind)()
    trainer.iterations = v1.train.get_or_create_global_step()
    trainer.get_updates(loss, [table])
    assert [one.table for one in rewrite(graph).refusals] == ["user"]


@pytest.mark.parametrize("tied", [True, False], ids=["tied softmax", "lookups alone"])
@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
def test_a_step_that_assigns_all_rows_keeps_the_variable(graph: tf.Graph, use_resource: bool, tied: bool) -> None:
    table = v1.get_variable("user", [10, 4], use_resource=use_resource)
    hidden = v1.nn.embedding_lookup(table, v1.placeholder(tf.int64, [None]))
    scores = tf.matmul(hidden, table, transpose_b=True) if tied else hidden
    (gradient,) = tf.gradients(tf.reduce_mean(tf.nn.log_softmax(scores)), [table])
    step = table.assign(table - 0.1 * (tf.convert_to_tensor(gradient) + 0.01 * table))
    plan = rewrite(graph)
    assert not plan.tables
    assert f"`{step.op.name}` assigns all its rows at every step" in plan.refusals[0].reason
    assert "tf.nn.sampled_softmax_loss" in plan.refusals[0].reason


def test_rows_that_are_set_from_the_rows_themselves_are_no_step(graph: tf.Graph) -> None:
    table = v1.get_variable("user", [10, 4], use_resource=True)
    v1.nn.embedding_lookup(table, v1.placeholder(tf.int64, [None]))
    v1.assign(table, tf.nn.l2_normalize(table, 1))
    assert rewrite(graph).tables


def test_dense_variables_are_not_mentioned(graph: tf.Graph) -> None:
    tf.matmul(v1.placeholder(tf.float32, [None, 10]), v1.get_variable("weights", [10, 4], use_resource=True))
    plan = rewrite(graph)
    assert (plan.tables, plan.refusals) == ((), ())


def test_a_name_that_is_no_variable_is_an_error(graph: tf.Graph) -> None:
    with pytest.raises(ValueError, match="the graph has no variable `usr`"):
        rewrite(graph, ["usr"])


def test_a_finalized_graph_is_left_alone(graph: tf.Graph) -> None:
    v1.nn.embedding_lookup(v1.get_variable("user", [10, 4]), v1.placeholder(tf.int64, [None]))
    graph.finalize()
    with pytest.raises(RuntimeError, match="the graph is finalized: rewrite it before the session starts"):
        rewrite(graph)


def test_a_fetched_gather_that_cannot_read_the_table_says_what_to_fetch(graph: tf.Graph) -> None:
    table = v1.get_variable("user", [10, 4], use_resource=True)
    gather = tf.gather(table, [1, 2])
    rows = gather + 0.0
    rewrite(graph)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        assert session.run(rows).shape == (2, 4)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="reads a variable that has become a table: fetch `rec"
        ):
            session.run(gather)
