"""A model that magnifies rounding is proved beside its original with nudged rows; faults in it are found as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import GraphModifierHook, _tf_private, rewrite
from rewriter.checks.invariants import RewriteError
from rewriter.proof import Proof, prove_graphs, record
from rewriter.proof.nudging import nudged
from runtime import native
from tests.support.rewriter.faults import op_of_table, read

v1 = tf.compat.v1
ROWS, DIM, FIELDS, STEPS = 50, 4, 6, 6


def _build(sharpness: float = 3e4) -> tuple[Any, Any]:
    """Build attention over feature columns with sharp weights in the current graph; return loss and train op."""
    v1.set_random_seed(5)
    ids = v1.placeholder(tf.int64, [None, FIELDS], "ids")
    labels = v1.placeholder(tf.float32, [None, 1], "labels")
    starts = v1.random_normal_initializer(stddev=0.3)
    table = v1.get_variable("user", [ROWS, DIM], initializer=starts)
    rows = v1.nn.embedding_lookup(table, ids, name="of_users")
    weights = tf.nn.softmax(tf.sin(tf.matmul(rows, rows, transpose_b=True) * sharpness))
    mixed = tf.reshape(tf.matmul(weights, rows), [-1, FIELDS * DIM], name="mixed")
    scores = mixed @ v1.get_variable("weights", [FIELDS * DIM, 1], initializer=starts)
    loss = tf.reduce_mean(tf.square(scores - labels), name="loss")
    return loss, v1.train.AdamOptimizer(0.01).minimize(loss, v1.train.get_or_create_global_step())


def _feeds() -> list[dict[str, Any]]:
    random = np.random.default_rng(3)
    return [
        {"ids:0": random.integers(0, ROWS - 1, (16, FIELDS)), "labels:0": random.normal(size=(16, 1))}
        for _ in range(STEPS)
    ]


def _proof(break_it: Callable[[tf.Graph], None], sharpness: float = 3e4) -> Proof:
    with tf.Graph().as_default() as graph:
        loss, train = _build(sharpness)
        original = graph.as_graph_def()
        plan = rewrite(graph)
        recording = record(original, graph.as_graph_def(), [loss.name, train.name], _feeds())
        break_it(graph)
        return prove_graphs(original, graph.as_graph_def(), plan, recording, live=graph)


def test_rounding_that_the_original_magnifies_too_is_no_difference() -> None:
    proof = _proof(lambda graph: None)
    assert proof.ok, proof.summary()
    assert proof.steps == STEPS
    assert any(one.startswith("gradients of rows of `user` are left out: they differ by ") for one in proof.notes)
    assert all("with its first rows changed in the last digit differs by " in one for one in proof.notes)


def _later_rate(graph: tf.Graph) -> None:
    step = tf.cast(v1.train.get_global_step(), tf.float32)
    read(op_of_table(graph, "user", "Pack"), 0, lambda rate: rate * (1.0 + 0.001 * tf.maximum(step - 2.0, 0.0)))


def _dense(graph: tf.Graph) -> None:
    read(graph.get_operation_by_name("mixed"), 0, lambda rows: rows * 1.001)


def _stray_row(graph: tf.Graph) -> None:
    update = op_of_table(graph, "user", "RecApply")
    with tf.control_dependencies([update]):
        other = native.ops().rec_table_upsert(update.inputs[0], tf.constant([49], tf.int64), tf.ones([1, DIM]))
    train = graph.get_operation_by_name("Adam/update")
    _tf_private.replace_controls(train, [*train.control_inputs, other])


@pytest.mark.parametrize(
    ("break_it", "kind"), [(_later_rate, "losses"), (_dense, "losses"), (_stray_row, "all rows at the end")]
)
def test_a_fault_is_found_in_such_a_model_too(break_it: Callable[[tf.Graph], None], kind: str) -> None:
    proof = _proof(break_it)
    assert proof.difference is not None and proof.difference.kind == kind, proof.summary()


def test_the_hook_ends_one_with_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    from rewriter import hook as hooks

    def broken(graph: tf.Graph, *settings: Any) -> Any:
        found = modify(graph, *settings)
        _later_rate(graph)
        return found

    modify = hooks._modify
    monkeypatch.setattr(hooks, "_modify", broken)
    with tf.Graph().as_default():
        fetched, session = _build(), v1.train.MonitoredSession(hooks=[GraphModifierHook(verify=STEPS)])
        with session, pytest.raises(RewriteError, match="losses of `loss:0` differ"):
            for feeds in _feeds():
                session.run(fetched, feeds)


def test_a_nudge_is_one_unit_in_the_last_place() -> None:
    rows = np.array([[1.0, -2.0], [0.0, 1e-3]], np.float32)
    moved = nudged(rows, 0)
    assert (moved != rows).all()
    assert moved[0, 0] in (np.nextafter(np.float32(1), np.float32(2)), np.float32(1) - np.spacing(np.float32(1)))
    assert (nudged(np.zeros([2, 2], np.float32), 1) != 0).all()
