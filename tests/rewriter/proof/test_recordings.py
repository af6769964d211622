"""What a proof records, and what the hook makes of it."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import GraphModifierHook, prove, rewrite
from rewriter.checks.invariants import RewriteError
from rewriter.graph.view import GraphView
from rewriter.plan.plan import Plan
from rewriter.proof import Proof, recording
from rewriter.proof.recording import maybe_dead
from rewriter.proof.result import gap, where
from tests.support.rewriter.compare import DIM, Inputs, head, variable
from tests.support.rewriter.faults import op_of_table, read
from tests.support.rewriter.models import batches, build

v1 = tf.compat.v1


def _proof(build: Any) -> Proof:
    made: list[Inputs] = []

    def whole() -> Any:
        made.append(Inputs.make())
        return build(made[0].features, made[0].labels)

    return prove(whole, lambda: made[0].feeds(4), 4)


def _flat(rows: Any) -> Any:
    return tf.reshape(rows, [-1, 3 * DIM])


@pytest.fixture
def old_control_flow() -> Any:
    v1.disable_control_flow_v2()
    yield
    v1.enable_control_flow_v2()


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
def test_lookups_in_branches(use_resource: bool, old_control_flow: None) -> None:
    def build(features: Any, labels: Any) -> Any:
        table = variable(use_resource=use_resource)
        rows = v1.cond(
            tf.reduce_sum(labels) > 0,
            lambda: v1.nn.embedding_lookup(table, features["ids"]),
            lambda: 2 * v1.nn.embedding_lookup(table, features["ids"] // 2),
        )
        return head(_flat(rows), labels, v1.train.AdagradOptimizer(0.1))

    proof = _proof(build)
    assert proof.ok, proof.summary()
    assert proof.tables == ("user",)
    ids = next(one for one in proof.compared if one.kind == "ids")
    assert len(ids.items) == 1, "the ids of the second branch are computed in it"


def test_ops_of_branches_and_loops_are_not_fetched(graph: tf.Graph, old_control_flow: None) -> None:
    x = v1.placeholder(tf.float32, [], "x")
    chosen = v1.cond(x > 0, lambda: v1.cond(x > 1, lambda: x + 1, lambda: x), lambda: tf.identity(x, "inside"))
    looped = v1.while_loop(lambda i: i < chosen, lambda i: i + 1.0, [x], name="loop")
    last = tf.identity(looped, "last")
    dead = maybe_dead(GraphView(graph.as_graph_def()))
    assert not dead & {"x", chosen.op.name, looped.op.name, last.op.name}
    assert {"cond/cond/add", "cond/inside", "cond/cond/Merge", "loop/add", "loop/Less"} <= dead


def test_what_differs_by_itself_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "GIVERS", ())
    random = np.random.default_rng()

    def build(features: Any, labels: Any) -> Any:
        noise = v1.py_func(lambda: np.float32(random.normal()), [], tf.float32)
        noise.set_shape([])
        loss, train = head(
            _flat(v1.nn.embedding_lookup(variable(), features["ids"])), labels, v1.train.AdagradOptimizer(0.1)
        )
        return loss, tf.add(loss, noise, name="noisy"), train

    proof = _proof(build)
    assert proof.ok, proof.summary()
    assert proof.notes == ("fetched tensors of `noisy:0` are left out: two runs of the original differ in them, too",)
    assert ("Mean:0",) in [one.items for one in proof.compared]


def test_steps_that_do_not_train_are_said() -> None:
    def build(features: Any, labels: Any) -> Any:
        return head(_flat(v1.nn.embedding_lookup(variable(), features["ids"])), labels, v1.train.AdagradOptimizer(0.1))[
            0
        ]

    proof = _proof(build)
    assert proof.ok
    assert proof.notes == ("no step trains `user`: its lookups were compared, its updates were not",)


def test_data_from_inside_a_branch_is_refused(old_control_flow: None) -> None:
    def build(features: Any, labels: Any) -> Any:
        data = v1.data.make_one_shot_iterator(tf.data.Dataset.from_tensors(np.arange(3)).repeat())
        ids = v1.cond(tf.reduce_sum(labels) > 0, data.get_next, lambda: features["ids"][0])
        return tf.reduce_sum(v1.nn.embedding_lookup(variable(), ids))

    with pytest.raises(ValueError, match=r"`cond/IteratorGetNext:0` reads data inside a branch or loop"):
        _proof(build)


@pytest.mark.parametrize(
    ("one", "other", "differs"),
    [
        ([1, 2], [1, 2], False),
        ([1, 2], [1, 3], True),
        ([1.0, 1e-9], [1.0, 2e-9], False),
        ([1.0, np.nan], [1.0, np.nan], False),
        ([1.0, np.nan], [np.nan, 1.0], True),
        ([1.0, np.inf], [1.0, -np.inf], True),
        ([1.0], [np.nan], True),
        ([1.0], [[1.0]], True),
        ([0.0], [1e-30], True),
        ([b"a"], [b"b"], True),
        ([], [], False),
        (np.float16([1.0]), np.float16([1.001]), False),
    ],
)
def test_gaps(one: Any, other: Any, differs: bool) -> None:
    assert gap(one, other, 1e-5).differs is differs
    assert where(one, other)


def test_parts_of_a_sparse_feed_may_be_lists(graph: tf.Graph) -> None:
    key = v1.sparse_placeholder(tf.int64)
    found = recording.fed_values({key: v1.SparseTensorValue([[0, 1]], [7], [1, 2])})
    assert [value.tolist() for value in found.values()] == [[[0, 1]], [7], [1, 2]]


def _fed(hook: GraphModifierHook, steps: int = 8) -> list[float]:
    """Train the small model by feeds, with the hook."""
    with tf.Graph().as_default():
        ids, labels, loss, step = build("adam")
        losses = []
        with v1.train.MonitoredSession(hooks=[hook]) as session:
            for one, two in batches(steps):
                losses.append(session.run({"loss": loss, "more": [step, "Tanh:0"]}, {ids: one, labels: two})["loss"])
        return [float(one) for one in losses]


def test_the_training_is_the_same_with_and_without_a_proof(caplog: pytest.LogCaptureFixture) -> None:
    plain = _fed(GraphModifierHook())
    hook = GraphModifierHook(verify=3)
    with caplog.at_level(logging.INFO, "rewriter"):
        assert _fed(hook) == plain
    assert hook.proof is not None
    assert hook.proof.ok
    assert hook.proof.steps == 3
    assert "the rewritten graph computes the same over 3 steps" in caplog.text
    assert "fetched tensors" in {one.kind for one in hook.proof.compared}


def test_runs_without_a_lookup_are_no_steps(caplog: pytest.LogCaptureFixture) -> None:
    hook = GraphModifierHook(verify=3)
    with tf.Graph().as_default(), caplog.at_level(logging.INFO, "rewriter"):
        ids, labels, loss, step = build("adam")
        count = v1.train.get_or_create_global_step()
        with v1.train.MonitoredSession(hooks=[hook]) as session:
            for one, two in batches(4):
                session.run(count)
                session.run([loss, step], {ids: one, labels: two})
    assert hook.proof is not None
    assert (hook.proof.steps, hook.proof.others) == (3, 3)
    assert "computes the same over 3 steps and 3 other runs of the session (tables" in caplog.text


def test_fewer_steps_than_asked_for_are_proved_at_the_end() -> None:
    hook = GraphModifierHook(verify=50)
    _fed(hook, steps=4)
    assert hook.proof is not None
    assert hook.proof.ok
    assert hook.proof.steps == 4


def test_a_difference_is_an_error_in_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(graph: tf.Graph, tables: Any, every: int, settings: Any) -> tuple[Plan, GraphView]:
        plan = rewrite(graph, tables, every=every)
        read(op_of_table(graph, "model/user", "RecApply"), 2, lambda values: values * 0.5)
        return plan, GraphView.of(graph)

    monkeypatch.setattr("rewriter.hook.rewrite_and_view", broken)
    hook = GraphModifierHook(verify=2)
    with pytest.raises(RewriteError, match=r"`Adam/update_model/user/.*table `model/user`.*models.py:\d+ in"):
        _fed(hook)
    assert hook.proof is not None
    assert hook.proof.difference is not None
    assert hook.proof.difference.table == "model/user"


def test_what_cannot_be_proved_is_said(caplog: pytest.LogCaptureFixture) -> None:
    hook = GraphModifierHook(verify=2)
    with tf.Graph().as_default():
        v1.get_variable("alone", [3, 2])
        v1.train.get_or_create_global_step()
        with v1.train.MonitoredSession(hooks=[hook]) as session:
            session.run(v1.train.get_global_step())
    assert hook.proof is None
    assert "the rewrite could not be proved: no variable was replaced" in caplog.text
