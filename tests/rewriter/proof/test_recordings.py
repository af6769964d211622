"""What a proof does with models that are no straight line: branches, several train ops, data it cannot record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import prove
from rewriter.graph.view import GraphView
from rewriter.proof import Proof, recording
from rewriter.proof.measure import gap, where
from rewriter.proof.reach import maybe_dead
from tests.support.rewriter.compare import DIM, Inputs, head, variable

v1 = tf.compat.v1


def _proof(build: Any, steps: int = 4) -> Proof:
    made: list[Inputs] = []

    def whole() -> Any:
        made.append(Inputs.make())
        return build(made[0].features, made[0].labels)

    return prove(whole, lambda: made[0].feeds(steps), steps)


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


@pytest.mark.parametrize("form", ["branches", "function"])
def test_lookups_that_were_inlined(form: str) -> None:
    def build(features: Any, labels: Any) -> Any:
        table = variable()
        if form == "function":
            rows = tf.function(lambda ids: tf.tanh(v1.nn.embedding_lookup(table, ids)))(features["ids"])
        else:
            rows = v1.cond(
                tf.reduce_sum(labels) > 0,
                lambda: v1.nn.embedding_lookup(table, features["ids"]),
                lambda: 2 * v1.nn.embedding_lookup(table, features["ids"] // 2),
            )
        return head(_flat(rows), labels, v1.train.AdagradOptimizer(0.1))

    proof = _proof(build)
    assert proof.ok, proof.summary()
    assert proof.notes == ("functions look `user` up: their results were compared, these ids were not",)
    assert {"losses", "all rows at the end"} <= {one.kind for one in proof.compared}


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
    assert proof.notes == ("fetched tensors of `noisy:0` are left out: the original does not reproduce them itself",)
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
