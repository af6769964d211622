"""`GraphModifierHook(verify=N)`: proves by what a session did, and leaves the session as it is."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import GraphModifierHook, rewrite
from rewriter.checks.invariants import RewriteError
from rewriter.graph.view import GraphView
from rewriter.plan.plan import Plan
from tests.support.rewriter.compare import BATCH, DIM, head, variable
from tests.support.rewriter.faults import op_of_table, read
from tests.support.rewriter.models import batches, build

v1 = tf.compat.v1


def _fed(hook: GraphModifierHook, steps: int = 8, also: Any = ()) -> list[float]:
    """Train the small model by feeds, with the hook."""
    with tf.Graph().as_default():
        ids, labels, loss, step = build("adam")
        losses = []
        with v1.train.MonitoredSession(hooks=[hook, *also]) as session:
            for one, two in batches(steps):
                losses.append(session.run({"loss": loss, "more": [step, "Tanh:0"]}, {ids: one, labels: two})["loss"])
        return [float(one) for one in losses]


def _input(steps: int = 30) -> Any:
    random = np.random.default_rng(1)
    words = np.array([f"user_{random.integers(0, 60)}" for _ in range(steps * BATCH * 3)]).reshape(-1, 3)
    labels = random.normal(size=(len(words), 1)).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices(({"words": words}, labels)).shuffle(100).batch(BATCH)


def _model(words: Any, labels: Any) -> tuple[Any, Any]:
    numbers = tf.strings.to_number(tf.strings.substr(words, 5, 10), tf.int64)
    rows = v1.nn.embedding_lookup(variable(), numbers)
    return head(tf.reshape(rows, [-1, 3 * DIM]), labels, v1.train.AdagradOptimizer(0.1))


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


def test_fewer_steps_than_asked_for_are_proved_at_the_end() -> None:
    hook = GraphModifierHook(verify=50)
    _fed(hook, steps=4)
    assert hook.proof is not None
    assert hook.proof.ok
    assert hook.proof.steps == 4


def test_a_vocabulary_is_filled_on_both_sides() -> None:
    """As the columns of a vocabulary list do it."""
    hook = GraphModifierHook(verify=3, move_ids=False)
    with tf.Graph().as_default():
        words = [f"user_{number}" for number in range(60)]
        filled = tf.lookup.KeyValueTensorInitializer(words, np.arange(60, dtype=np.int64))
        features, labels = v1.data.make_one_shot_iterator(_input()).get_next()
        numbers = tf.lookup.StaticHashTable(filled, 0).lookup(features["words"])
        rows = tf.reshape(v1.nn.embedding_lookup(variable(), numbers), [-1, 3 * DIM])
        loss, step = head(rows, labels, v1.train.AdagradOptimizer(0.1))
        with v1.train.MonitoredSession(hooks=[hook]) as session:
            for _ in range(4):
                session.run([loss, step])
    assert hook.proof is not None
    assert hook.proof.ok
    assert hook.proof.steps == 3


def test_ids_that_datasets_compute_are_compared_batch_by_batch() -> None:
    found = {}
    for verify in (0, 5):
        hook = GraphModifierHook(verify=verify)
        with tf.Graph().as_default():
            v1.set_random_seed(4)
            features, labels = v1.data.make_one_shot_iterator(_input()).get_next()
            loss, step = _model(features["words"], labels)
            with v1.train.MonitoredSession(hooks=[hook]) as session:
                found[verify] = [float(session.run([loss, step])[0]) for _ in range(10)]
        assert len(hook.pipeline.moved) == 1
    assert found[5] == found[0]
    assert hook.proof is not None
    assert hook.proof.ok, hook.proof.summary()
    assert hook.proof.compared[1].kind == "ids"
    assert hook.proof.compared[1].times == 5


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
