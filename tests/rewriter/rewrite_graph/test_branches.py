"""Lookups in the branches and loops of v1 control flow move, and train to the numbers of the stock model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import GraphModifierHook, rewrite
from tests.support.rewriter.compare import DIM, ROWS, Inputs, assert_same, head, variable

v1 = tf.compat.v1

RULES: dict[str, Callable[[], Any]] = {
    "sgd": lambda: v1.train.GradientDescentOptimizer(0.1),
    "adagrad": lambda: v1.train.AdagradOptimizer(0.1),
    "adam": lambda: v1.train.AdamOptimizer(0.01),
    # Moves rows by what they are, where their gradient is zero: that of a branch not taken is.
    "momentum": lambda: v1.train.MomentumOptimizer(0.1, 0.9),
    "ftrl": lambda: v1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.001),
}
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


def _in_branches(table: Any, ids: Any, labels: Any) -> Any:
    return v1.cond(tf.reduce_sum(labels) > 0, lambda: _lookup(table, ids), lambda: 2 * _lookup(table, ids // 2))


def _in_one_branch(table: Any, ids: Any, labels: Any) -> Any:
    return v1.cond(tf.reduce_sum(labels) > 0, lambda: _lookup(table, ids), lambda: tf.ones([tf.shape(ids)[0], 3, DIM]))


def _in_nested_branches(table: Any, ids: Any, labels: Any) -> Any:
    inner = lambda: v1.cond(tf.reduce_max(labels) > 1.5, lambda: _lookup(table, ids), lambda: _lookup(table, ids // 3))  # noqa: E731
    return v1.cond(tf.reduce_sum(labels) > 0, inner, lambda: 2 * _lookup(table, ids // 2))


def _in_a_branch_in_a_loop(table: Any, ids: Any, labels: Any) -> Any:
    def body(i: Any, total: Any) -> Any:
        rows = v1.cond(labels[i, 0] > 0, lambda: _lookup(table, ids), lambda: _lookup(table, ids // 2))
        return i + 1, total + rows

    return v1.while_loop(lambda i, _: i < 3, body, [tf.constant(0), tf.zeros([tf.shape(ids)[0], 3, DIM])])[1]


def _in_a_loop_in_a_branch(table: Any, ids: Any, labels: Any) -> Any:
    def loop() -> Any:
        return v1.while_loop(
            lambda i, _: i < 3,
            lambda i, total: (i + 1, total + _lookup(table, ids // tf.cast(i + 1, tf.int64))),
            [tf.constant(0), tf.zeros([tf.shape(ids)[0], 3, DIM])],
        )[1]

    return v1.cond(tf.reduce_sum(labels) > 0, loop, lambda: _lookup(table, ids // 5))


def _in_nested_loops(table: Any, ids: Any, labels: Any) -> Any:
    def loop(rows: Any) -> Any:
        return v1.while_loop(
            lambda i, _: i < 2,
            lambda i, total: (i + 1, total + _lookup(table, ids // tf.cast(i + 1, tf.int64))),
            [tf.constant(0), rows],
        )[1]

    zeros = tf.zeros([tf.shape(ids)[0], 3, DIM])
    return v1.while_loop(lambda i, _: i < 2, lambda i, rows: (i + 1, loop(rows)), [tf.constant(0), zeros])[1]


def _in_cases(table: Any, ids: Any, labels: Any) -> Any:
    cases = [(tf.reduce_max(labels) > limit, lambda i=i: _lookup(table, ids // i)) for i, limit in ((1, 2.0), (2, 1.5))]
    return v1.case(cases, lambda: _lookup(table, ids // 7))


def _in_map_fn(table: Any, ids: Any, labels: Any) -> Any:
    return v1.map_fn(lambda one: _lookup(table, one), ids, tf.float32)


def _in_scan(table: Any, ids: Any, labels: Any) -> Any:
    return v1.scan(lambda rows, one: 0.5 * rows + _lookup(table, one), ids, tf.zeros([3, DIM]))


def _before_a_recurrent_network(table: Any, ids: Any, labels: Any) -> Any:
    rows = _lookup(table, ids)
    weights = v1.get_variable("recurrent", [DIM, DIM], initializer=v1.random_normal_initializer(stddev=0.3))
    steps = v1.scan(lambda state, one: tf.tanh(state @ weights + one), tf.transpose(rows, [1, 0, 2]), rows[:, 0])
    return tf.transpose(steps, [1, 0, 2])


def _before_an_array_in_a_loop(table: Any, ids: Any, labels: Any) -> Any:
    rows = tf.TensorArray(tf.float32, 3).unstack(tf.transpose(_lookup(table, ids), [1, 0, 2]))
    results = tf.TensorArray(tf.float32, 3)
    _, _, found = v1.while_loop(
        lambda i, *_: i < 3,
        lambda i, state, out: (i + 1, state + rows.read(i), out.write(i, tf.tanh(state))),
        [tf.constant(0), tf.zeros([tf.shape(ids)[0], DIM]), results],
    )
    return tf.transpose(found.stack(), [1, 0, 2])


def _of_ids_from_a_loop(table: Any, ids: Any, labels: Any) -> Any:
    halved = v1.while_loop(lambda one: tf.reduce_max(one) > 20, lambda one: one // 2, [ids])
    return _lookup(table, halved)


def _of_rows_used_in_both_branches(table: Any, ids: Any, labels: Any) -> Any:
    rows = _lookup(table, ids)
    return v1.cond(tf.reduce_sum(labels) > 0, lambda: 2 * rows, lambda: tf.tanh(rows))


def _inside_and_outside(table: Any, ids: Any, labels: Any) -> Any:
    return _lookup(table, ids) + v1.cond(
        tf.reduce_sum(labels) > 0, lambda: _lookup(table, ids // 2), lambda: _lookup(table, ids // 3)
    )


def _behind_a_raw_switch(table: Any, ids: Any, labels: Any) -> Any:
    off, on = tf.raw_ops.Switch(data=ids, pred=tf.reduce_sum(labels) > 0)
    return tf.raw_ops.Merge(inputs=[_lookup(table, off // 2), 2 * _lookup(table, on)])[0]


def _by_gather(table: Any, ids: Any, labels: Any) -> Any:
    return v1.cond(tf.reduce_sum(labels) > 0, lambda: tf.gather(table, ids), lambda: tf.gather(table, ids // 2))


FORMS = [
    _in_branches, _in_one_branch, _in_nested_branches, _in_a_branch_in_a_loop, _in_a_loop_in_a_branch,
    _in_nested_loops, _in_cases, _in_map_fn, _in_scan, _before_a_recurrent_network, _before_an_array_in_a_loop,
    _of_ids_from_a_loop, _of_rows_used_in_both_branches, _inside_and_outside, _behind_a_raw_switch, _by_gather,
]  # fmt: skip


@both
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
@pytest.mark.one_case
def test_forms_of_control_flow(form: Callable[..., Any], rule: str, use_resource: bool) -> None:
    def build(features: Any, labels: Any) -> Any:
        rows = form(variable(use_resource=use_resource), features["ids"], labels)
        return head(_flat(rows), labels, RULES[rule]())

    assert_same(build, "user")


@both
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.one_case
def test_a_train_op_in_a_branch(rule: str, use_resource: bool) -> None:
    def build(features: Any, labels: Any) -> Any:
        rows = _lookup(variable(use_resource=use_resource), features["ids"])
        made: list[Any] = []

        def train() -> Any:
            made.extend(head(_flat(rows), labels, RULES[rule]()))
            with tf.control_dependencies([made[1]]):
                return tf.identity(made[0])

        loss = v1.cond(tf.reduce_sum(labels) > -2, train, lambda: tf.constant(0.0))
        return loss, loss.op

    assert_same(build, "user")


def _exported_loop(form: Callable[..., Any], use_resource: bool) -> tuple[Any, Any]:
    with tf.Graph().as_default() as graph:
        v1.set_random_seed(1)
        ids, labels = v1.placeholder(tf.int64, [None, 3], "ids"), v1.placeholder(tf.float32, [None, 1], "labels")
        rows = form(variable(use_resource=use_resource), ids, labels)
        head(_flat(rows), labels, v1.train.AdagradOptimizer(0.1))
        return graph.as_graph_def(), v1.train.export_meta_graph()


def _feeds(steps: int) -> Iterator[dict[str, Any]]:
    random = np.random.default_rng(1)
    for _ in range(steps):
        yield {"ids:0": random.integers(0, ROWS, [8, 3]), "labels:0": random.normal(size=[8, 1])}


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
@pytest.mark.parametrize("form", [_in_map_fn, _in_nested_branches, _in_a_branch_in_a_loop])
def test_control_flow_in_a_meta_graph_moves(form: Callable[..., Any], use_resource: bool) -> None:
    _, meta = _exported_loop(form, use_resource)
    found = []
    for moved in (False, True):
        with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
            v1.train.import_meta_graph(meta)
            plan = rewrite(graph) if moved else None
            assert not plan or [table.name for table in plan.tables] == ["user"], plan.summary()
            session.run(v1.global_variables_initializer())
            found.append([session.run(["Mean:0", "Adagrad"], feed)[0] for feed in _feeds(10)])
    assert np.abs(np.subtract(*found)).max() <= 1e-5 * np.abs(found).max()
    assert abs(found[0][0] - found[0][-1]) > 1e-3


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
