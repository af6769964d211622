"""What goes wrong in the vendor's graph modifier: a test for each trap that its algorithm would fail."""

from __future__ import annotations

import collections
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import GraphModifierHook, rewrite
from rewriter.graph.view import GraphView, Use
from rewriter.pipeline import PipelinePlan
from rewriter.plan.plan import Plan
from rewriter.plan.planner import make_plan

v1 = tf.compat.v1
ROWS, DIM, STEPS = 40, 4, 12
both = pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])

#: Builds a model and returns its fetches, the train op among them.
Build = Callable[[], list[Any]]


def _numbers(seed: int = 0) -> Any:
    random = np.random.default_rng(seed)
    columns = {"x": random.integers(0, 6, [STEPS * 8, 3]), "labels": random.normal(size=[STEPS * 8, 1])}
    return tf.data.Dataset.from_tensor_slices(columns).batch(8)


def _element(dataset: Any) -> Any:
    return v1.data.make_one_shot_iterator(dataset).get_next()


def _table(use_resource: bool = True, name: str = "user") -> Any:
    starts = v1.random_uniform_initializer(-1, 1, seed=2)
    return v1.get_variable(name, [ROWS, DIM], initializer=starts, use_resource=use_resource)


def _trained(rows: Any, labels: Any) -> list[Any]:
    weights = v1.get_variable("head", [DIM, 1], initializer=v1.random_uniform_initializer(-1, 1, seed=3))
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(rows, 1) @ weights - tf.cast(labels, tf.float32)))
    return [loss, v1.train.AdagradOptimizer(0.1).minimize(loss, v1.train.get_or_create_global_step())]


def _run(build: Build, hooks: list[Any]) -> list[Any]:
    found = []
    with tf.Graph().as_default():
        fetches = build()
        with v1.train.MonitoredSession(hooks=hooks) as session:
            for _ in range(STEPS):
                found.append([one for one in session.run(fetches) if one is not None])
    return found


def _assert_same(build: Build) -> tuple[Plan, PipelinePlan]:
    """Check that `user` moves and all fetches of all steps are what they were."""
    hook = GraphModifierHook()
    stock, moved = _run(build, []), _run(build, [hook])
    for step, other in zip(stock, moved, strict=True):
        for one, two in zip(step, other, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-5)
    assert hook.plan is not None
    assert "user" in [table.name for table in hook.plan.tables]
    return hook.plan, hook.pipeline


@both
def test_an_op_that_uses_the_rows_twice_has_both_inputs_moved(use_resource: bool) -> None:
    def build() -> list[Any]:
        given = _element(_numbers())
        rows = v1.nn.embedding_lookup(_table(use_resource), tf.cast(given["x"], tf.int64))
        rows = rows.op.inputs[0]  # of the gather itself
        return _trained(tf.multiply(rows, rows, name="square"), given["labels"])

    plan, _ = _assert_same(build)
    assert [edit.use for edit in plan.inputs if edit.use.op == "square"] == [Use("square", 0), Use("square", 1)]


def test_an_op_that_uses_an_element_twice_has_both_inputs_moved() -> None:
    def build() -> list[Any]:
        given = _element(_numbers())
        ids = tf.multiply(given["x"], given["x"], name="squares")
        return [ids, *_trained(v1.nn.embedding_lookup(_table(), ids), given["labels"])]

    _, pipeline = _assert_same(build)
    assert len(pipeline.moved) == 1


def _diamonds(x: Any, depth: int = 24) -> Any:
    """Return x after `depth` ops of two equal inputs: 2 ** depth ways lead there."""
    for _ in range(depth):
        x = (x + x) % ROWS
    return x


@both
@pytest.mark.one_case
def test_ids_with_millions_of_ways_to_them(use_resource: bool) -> None:
    def build() -> list[Any]:
        given = _element(_numbers())
        return _trained(v1.nn.embedding_lookup(_table(use_resource), _diamonds(given["x"])), given["labels"])

    _, pipeline = _assert_same(build)
    assert len(pipeline.moved) == 1


def test_ids_behind_a_long_way() -> None:
    """It is longer than Python's stack is deep."""

    def build() -> list[Any]:
        element = _element(_numbers())
        ids = element["x"] % ROWS
        for _ in range(600):
            ids = ids + 0
        return _trained(v1.nn.embedding_lookup(_table(), ids), element["labels"])

    _assert_same(build)


def test_a_condition_of_ids_with_millions_of_ways_to_it() -> None:
    def build() -> list[Any]:
        element = _element(_numbers())
        fits = element["x"] >= 0
        for _ in range(24):
            fits = tf.logical_and(fits, fits)
        ids = tf.where(fits, element["x"], tf.zeros_like(element["x"]))
        return _trained(v1.nn.embedding_lookup(_table(), ids), element["labels"])

    _assert_same(build)


def test_rows_with_millions_of_ways_from_them() -> None:
    def build() -> list[Any]:
        given = _element(_numbers())
        rows = v1.nn.embedding_lookup(_table(), given["x"])
        for _ in range(24):
            rows = tf.maximum(rows, rows * 0.5)
        return _trained(rows, given["labels"])

    _assert_same(build)


class _Counted(GraphView):
    """Counts how often each op was asked about."""

    def __init__(self, definition: Any) -> None:
        self.asked: collections.Counter[str] = collections.Counter()
        super().__init__(definition)

    def inputs(self, op: str) -> Any:
        self.asked[op] += 1
        return super().inputs(op)

    def users(self, op: str) -> Any:
        self.asked[op] += 1
        return super().users(op)


def _visits(depth: int) -> int:
    with tf.Graph().as_default() as graph:
        given = _element(_numbers())
        _trained(v1.nn.embedding_lookup(_table(), _diamonds(given["x"], depth)), given["labels"])
        view = _Counted(graph.as_graph_def(add_shapes=True))
    assert make_plan(view).tables
    return view.asked.total()


def test_visits_grow_with_the_ops_and_not_with_the_ways() -> None:
    few, many = _visits(50), _visits(100)
    assert many - few <= 20 * 50 * 3  # each diamond is three ops: the sum, the remainder and a constant


@pytest.mark.parametrize("wrong", [False, True])
def test_control_edges_before_the_ids_are_kept(wrong: bool) -> None:
    def build() -> list[Any]:
        given = _element(_numbers())
        checked = tf.debugging.assert_less(given["x"], tf.constant(0 if wrong else ROWS, tf.int64), name="checked")
        with tf.control_dependencies([checked]):
            ids = tf.identity(given["x"])
        return _trained(v1.nn.embedding_lookup(_table(), ids), given["labels"])

    if not wrong:
        _assert_same(build)
        return
    with pytest.raises(tf.errors.InvalidArgumentError):
        _run(build, [GraphModifierHook()])


@both
@pytest.mark.one_case
def test_who_waits_for_a_lookup_waits_for_that_of_the_table(use_resource: bool) -> None:
    def build() -> list[Any]:
        given = _element(_numbers())
        rows = v1.nn.embedding_lookup(_table(use_resource), given["x"])
        seen = v1.get_variable("seen", [], initializer=v1.zeros_initializer(), trainable=False, use_resource=True)
        with tf.control_dependencies([rows.op.inputs[0].op]):
            count = seen.assign_add(1.0)
        return [count, *_trained(rows, given["labels"])]

    plan, _ = _assert_same(build)
    assert any("embedding_lookup" in wait.old for wait in plan.controls)


def test_ids_from_two_iterators() -> None:
    def build() -> list[Any]:
        one, other = _element(_numbers()), _element(_numbers(1).prefetch(2))
        ids = one["x"] * 6 + other["x"]
        return [ids, *_trained(v1.nn.embedding_lookup(_table(), ids), one["labels"])]

    _assert_same(build)


def test_datasets_whose_names_sort_against_their_order() -> None:
    def build() -> list[Any]:
        late = _element(_numbers(1).prefetch(2).map(lambda one: one).prefetch(3))
        early = _element(_numbers().prefetch(1))
        rows = v1.nn.embedding_lookup(_table(), early["x"] * 2) + v1.nn.embedding_lookup(_table(name="item"), late["x"])
        return [early["x"], late["x"], *_trained(rows, early["labels"])]

    plan, pipeline = _assert_same(build)
    assert sorted(table.name for table in plan.tables) == ["item", "user"]
    assert len(pipeline.moved) + len(pipeline.passing) == 2


@pytest.mark.parametrize("name", ["args_0", "Placeholder", "IteratorGetNext", "a:0", "^b"])
@pytest.mark.one_case
def test_elements_with_names_that_graphs_use(name: str) -> None:
    def build() -> list[Any]:
        given = _element(_numbers().map(lambda args_0: {name: args_0["x"], "labels": args_0["labels"]}))
        return _trained(v1.nn.embedding_lookup(_table(), given[name] * 2), given["labels"])

    _, pipeline = _assert_same(build)
    assert len(pipeline.moved) == 1


def test_a_variable_upstream_is_read_in_the_graph() -> None:
    def build() -> list[Any]:
        given = _element(_numbers())
        shift = v1.get_variable("shift", [], tf.int64, v1.zeros_initializer(), trainable=False, use_resource=True)
        ids = given["x"] + shift.read_value()
        loss, step = _trained(v1.nn.embedding_lookup(_table(), ids), given["labels"])
        with tf.control_dependencies([step]):
            return [loss, ids, shift.assign_add(1)]

    _, pipeline = _assert_same(build)
    (staying,) = pipeline.staying
    assert "`Read/ReadVariableOp` is stateful" in staying.reason


def test_one_iterator_for_training_and_evaluation() -> None:
    def build() -> list[Any]:
        given = _element(_numbers())
        table = _table()
        rows = v1.nn.embedding_lookup(table, given["x"])
        watched = v1.nn.embedding_lookup(table, given["x"] + 6)
        loss, step = _trained(rows, given["labels"])
        with tf.control_dependencies([loss]):
            return [loss, tf.reduce_sum(watched), step]

    plan, _ = _assert_same(build)
    assert [one.trains for one in plan.tables[0].lookups] == [True, False]


def test_two_graphs_in_one_process() -> None:
    graphs, starts = [tf.Graph(), tf.Graph()], []
    for number, graph in enumerate(graphs):
        with graph.as_default():
            _trained(v1.nn.embedding_lookup(_table(), _element(_numbers(number))["x"]), tf.zeros([8, 1]))
            starts.append(v1.global_variables_initializer())
    plans = [rewrite(graph) for graph in graphs]
    assert [[table.name for table in plan.tables] for plan in plans] == [["user"], ["user"]]
    sessions = [v1.Session(graph=graph) for graph in graphs]
    for session, start in zip(sessions, starts, strict=True):
        session.run(start)
    losses = [[session.run(["Mean:0", "Adagrad"])[0] for session in sessions] for _ in range(STEPS)]
    for session in sessions:
        session.close()
    assert all(abs(one - other) > 1e-6 for one, other in losses)


def test_a_model_that_has_no_gradients_yet_is_said_to_have_no_update(graph: tf.Graph) -> None:
    loss = tf.reduce_sum(v1.nn.embedding_lookup(_table(), v1.placeholder(tf.int64, [None])))
    plan = rewrite(graph, dry_run=True)
    assert "no update" in plan.summary()
    v1.train.AdagradOptimizer(0.1).minimize(loss)
    assert "adagrad" in rewrite(graph).summary()


@pytest.mark.soak
def test_importing_the_rewriter_leaves_datasets_alone() -> None:
    code = (
        "import tensorflow as tf; kinds = (tf.data.Dataset, tf.compat.v1.data.Dataset, tf.compat.v1.Session); "
        "before = [dict(vars(one)) for one in kinds]; import rewriter; "
        "assert before == [dict(vars(one)) for one in kinds]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
