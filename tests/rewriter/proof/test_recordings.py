"""What a proof records, of graphs in files too, and what the hook makes of it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import GraphModifierHook, prove, rewrite
from rewriter.checks.invariants import RewriteError
from rewriter.graph.view import GraphView
from rewriter.nudging import nudged
from rewriter.plan.plan import Plan
from rewriter.proof import Proof, recording
from rewriter.proof.in_files import prove_meta_graph
from rewriter.proof.recording import maybe_dead
from rewriter.proof.result import gap, where
from tests.support.rewriter.compare import DIM, Inputs, head, variable
from tests.support.rewriter.faults import op_of_table, read
from tests.support.rewriter.models import batches, build
from tests.support.rewriter.models import build as small

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


def _file_proof(build: Callable[[], Any], break_it: Callable[[tf.Graph], None] | None = None, steps: int = 4) -> Proof:
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

    proof = _file_proof(_inputs(build))
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

    proof = _file_proof(build)
    assert proof.ok, proof.summary()
    assert "rows looked up" in _items(proof)
    assert proof.notes == ()


def test_a_fault_is_found() -> None:
    def break_it(graph: tf.Graph) -> None:
        read(op_of_table(graph, "model/user", "RecApply"), 2, lambda values: values * 0.5)

    proof = _file_proof(lambda: small("adagrad"), break_it)
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
        _file_proof(lambda: tf.reduce_sum(v1.nn.embedding_lookup(variable(), UNKNOWN[words]())))


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
