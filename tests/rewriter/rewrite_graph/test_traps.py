"""What goes wrong in the vendor's graph modifier: a test for each trap that its algorithm would fail."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import GraphModifierHook
from rewriter.graph.view import Use
from rewriter.pipeline import PipelinePlan
from rewriter.plan.plan import Plan

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


@pytest.mark.parametrize("name", ["args_0", "Placeholder", "IteratorGetNext", "a:0", "^b"])
@pytest.mark.one_case
def test_elements_with_names_that_graphs_use(name: str) -> None:
    def build() -> list[Any]:
        given = _element(_numbers().map(lambda args_0: {name: args_0["x"], "labels": args_0["labels"]}))
        return _trained(v1.nn.embedding_lookup(_table(), given[name] * 2), given["labels"])

    _, pipeline = _assert_same(build)
    assert len(pipeline.moved) == 1


@pytest.mark.soak
def test_importing_the_rewriter_leaves_datasets_alone() -> None:
    code = (
        "import tensorflow as tf; kinds = (tf.data.Dataset, tf.compat.v1.data.Dataset, tf.compat.v1.Session); "
        "before = [dict(vars(one)) for one in kinds]; import rewriter; "
        "assert before == [dict(vars(one)) for one in kinds]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
