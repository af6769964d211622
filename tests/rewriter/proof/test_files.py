"""Proofs of graphs in files, and of models that magnify rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import GraphModifierHook, rewrite
from rewriter.checks.invariants import RewriteError
from rewriter.nudging import nudged
from rewriter.proof import Proof
from rewriter.proof.in_files import prove_meta_graph
from tests.support.rewriter.compare import DIM, Inputs, head, variable
from tests.support.rewriter.faults import op_of_table, read
from tests.support.rewriter.models import build as small

v1 = tf.compat.v1


def _proof(build: Callable[[], Any], break_it: Callable[[tf.Graph], None] | None = None, steps: int = 4) -> Proof:
    """Prove the rewrite of a graph of which only a MetaGraphDef is left."""
    with tf.Graph().as_default():
        build()
        meta = v1.train.export_meta_graph()
    with tf.Graph().as_default() as graph:
        v1.train.import_meta_graph(meta)
        plan = rewrite(graph)
        assert plan.tables, plan.summary()
        if break_it:
            break_it(graph)
        moved = v1.train.export_meta_graph()
    return prove_meta_graph(meta, moved, plan, steps)


def _inputs(build: Callable[[Any, Any], Any]) -> Callable[[], Any]:
    def whole() -> Any:
        inputs = Inputs.make()
        return build(inputs.features, inputs.labels)

    return whole


def _items(proof: Proof) -> dict[str, tuple[str, ...]]:
    return {one.kind: one.items for one in proof.compared}


def test_sparse_placeholders_and_several_tables() -> None:
    def build(features: Any, labels: Any) -> Any:
        pooled = [
            v1.nn.embedding_lookup_sparse(variable(name), features[name], weights, combiner="mean")
            for name, weights in (("tags", features["weights"]), ("more", None))
        ]
        rows = tf.reshape(v1.nn.embedding_lookup(variable("third"), features["ids"] % 7), [-1, 3 * DIM])
        return head(tf.concat([*pooled, rows], 1), labels, v1.train.AdagradOptimizer(0.1))

    proof = _proof(_inputs(build))
    assert proof.ok, proof.summary()
    assert len(_items(proof)["ids"]) == 3


def test_a_graph_without_collections_runs_to_its_ends() -> None:
    def build() -> None:
        ids = v1.placeholder(tf.int32, [None], "ids")
        keep = v1.placeholder(tf.float32, [], "keep")
        train = v1.placeholder(tf.bool, [], "train")
        rows = v1.nn.embedding_lookup(variable(), ids)
        tf.reduce_sum(tf.where(train, keep * rows, rows), name="score")
        v1.train.Saver()

    proof = _proof(build)
    assert proof.ok, proof.summary()
    assert "rows looked up" in _items(proof)
    assert proof.notes == ()


def test_a_fault_is_found() -> None:
    def break_it(graph: tf.Graph) -> None:
        read(op_of_table(graph, "model/user", "RecApply"), 2, lambda values: values * 0.5)

    proof = _proof(lambda: small("adagrad"), break_it)
    assert proof.difference is not None
    assert proof.difference.table == "model/user"
    assert proof.difference.source is None


#: what gives the ids, and why no feeds are made up for it
UNKNOWN: dict[str, Callable[[], Any]] = {
    "string values of the placeholder `words` cannot be synthesized: give Graph": lambda: (
        tf.strings.to_hash_bucket_fast(v1.placeholder(tf.string, [None], "words"), 60)
    ),
    "the placeholder `ids` has no static shape to synthesize values for": lambda: v1.placeholder(tf.int64, None, "ids"),
    "`IteratorGetNext` reads data that is not in the file": lambda: v1.data.make_one_shot_iterator(
        tf.data.Dataset.range(60).batch(3)
    ).get_next(),
}


@pytest.mark.parametrize("words", UNKNOWN)
def test_feeds_that_cannot_be_made_up(words: str) -> None:
    with pytest.raises(ValueError, match=words):
        _proof(lambda: tf.reduce_sum(v1.nn.embedding_lookup(variable(), UNKNOWN[words]())))


ROWS, WIDTH, FIELDS, STEPS = 50, 4, 6, 6


def _build(sharpness: float = 3e4) -> tuple[Any, Any]:
    """Build attention over feature columns with sharp weights in the current graph; return loss and train op."""
    v1.set_random_seed(5)
    ids = v1.placeholder(tf.int64, [None, FIELDS], "ids")
    labels = v1.placeholder(tf.float32, [None, 1], "labels")
    starts = v1.random_normal_initializer(stddev=0.3)
    table = v1.get_variable("user", [ROWS, WIDTH], initializer=starts)
    rows = v1.nn.embedding_lookup(table, ids, name="of_users")
    weights = tf.nn.softmax(tf.sin(tf.matmul(rows, rows, transpose_b=True) * sharpness))
    mixed = tf.reshape(tf.matmul(weights, rows), [-1, FIELDS * WIDTH], name="mixed")
    scores = mixed @ v1.get_variable("weights", [FIELDS * WIDTH, 1], initializer=starts)
    loss = tf.reduce_mean(tf.square(scores - labels), name="loss")
    return loss, v1.train.AdamOptimizer(0.01).minimize(loss, v1.train.get_or_create_global_step())


def _feeds() -> list[dict[str, Any]]:
    random = np.random.default_rng(3)
    return [
        {"ids:0": random.integers(0, ROWS - 1, (16, FIELDS)), "labels:0": random.normal(size=(16, 1))}
        for _ in range(STEPS)
    ]


def _later_rate(graph: tf.Graph) -> None:
    step = tf.cast(v1.train.get_global_step(), tf.float32)
    read(op_of_table(graph, "user", "Pack"), 0, lambda rate: rate * (1.0 + 0.001 * tf.maximum(step - 2.0, 0.0)))


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
