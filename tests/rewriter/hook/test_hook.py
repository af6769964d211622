"""What the hook records and refuses, and variables that a program still holds in its hand."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from rewriter import GraphModifierHook, rewrite
from runtime import create_table
from tests.support.rewriter import traced as trace_models

v1 = tf.compat.v1


@pytest.mark.parametrize(
    ("name", "said"), [("graph.html", "must name a .json file"), ("none/graph.json", "does not exist")]
)
def test_a_path_that_cannot_be_written_is_refused_at_once(name: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        GraphModifierHook(report=str(tmp_path / name))


def test_a_proof_is_added_when_it_is_made(graph: tf.Graph, tmp_path: Path) -> None:
    ids = v1.placeholder(tf.int64, [None])
    step = v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(trace_models.plain(ids)))
    path = tmp_path / "graph.json"
    with v1.train.MonitoredSession(hooks=[GraphModifierHook(report=str(path), verify=2)]) as session:
        assert json.loads(path.read_text())["proof"] is None
        for _ in range(2):
            session.run(step, {ids: [1, 2]})
        proof = json.loads(path.read_text())["proof"]
    assert proof["ok"]
    assert {"ids", "touched rows"} <= {one["kind"] for one in proof["compared"]}


ROWS, DIM = 6, 2
ONES = np.ones([ROWS, DIM], np.float32)


@dataclass
class Held:
    """The variable, what asks before the rewrite whether it and all others are set, its rows, and a train op."""

    variable: Any
    ids: Any
    rows: Any
    train: Any
    is_set: Any
    unset: Any


def _build(use_resource: bool) -> Held:
    starts = v1.random_uniform_initializer(2.0, 3.0)
    variable = v1.get_variable("user", [ROWS, DIM], initializer=starts, use_resource=use_resource)
    ids = v1.placeholder(tf.int64, [None], "ids")
    rows = tf.identity(v1.nn.embedding_lookup(variable, ids), "rows")
    train = v1.train.AdagradOptimizer(1.0).minimize(tf.reduce_sum(rows**2), name="train")
    return Held(variable, ids, rows, train, v1.is_variable_initialized(variable), v1.report_uninitialized_variables())


def _moved(graph: tf.Graph, use_resource: bool) -> Held:
    held = _build(use_resource)
    assert [table.name for table in rewrite(graph).tables] == ["user"]
    return held


BOTH = pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])


@BOTH
def test_whether_it_is_initialized_is_asked_of_the_table(graph: tf.Graph, use_resource: bool) -> None:
    held = _moved(graph, use_resource)
    later = v1.is_variable_initialized(held.variable), v1.report_uninitialized_variables([held.variable])
    with v1.Session() as session:
        assert not session.run(held.is_set) and not session.run(later[0])
        assert {b"user", b"user/Adagrad"} <= set(session.run(held.unset))
        assert list(session.run(later[1])) == [b"user"]
        session.run(v1.global_variables_initializer())
        assert session.run(held.is_set) and session.run(later[0])
        assert session.run(held.unset).size == session.run(later[1]).size == 0


def test_rows_of_another_shape_are_refused(graph: tf.Graph) -> None:
    _moved(graph, True)
    (anchor,) = v1.trainable_variables()
    with pytest.raises(ValueError, match="needs a session"):
        anchor.load(ONES)
    with v1.Session() as session, pytest.raises(ValueError, match="Cannot feed value of shape"):
        anchor.load(ONES[:3], session)
    with pytest.raises(ValueError, match="shape"):
        anchor.assign(ONES[:3])


def test_a_table_of_a_program_says_how_rows_are_set(graph: tf.Graph) -> None:
    table = create_table(tf.int64, DIM, "own", v1.zeros_initializer())
    with v1.Session() as session, pytest.raises(TypeError, match=r"holds no rows: set them with .*import_rows"):
        table.variable.load(np.zeros([0, DIM], np.float32), session)


USES: dict[str, Callable[[Any, Any], Any]] = {
    "saver": lambda user, ids: v1.train.Saver([user]),
    "lookup": lambda user, ids: v1.nn.embedding_lookup(user, ids),
    "gather": lambda user, ids: tf.gather(user, ids),
    "assign": lambda user, ids: v1.assign(user, tf.zeros([ROWS, DIM])),
    "method": lambda user, ids: user.assign_add(tf.ones([ROWS, DIM])),
    "scatter": lambda user, ids: v1.scatter_update(user, ids, tf.zeros([1, DIM])),
    "whole": lambda user, ids: tf.reduce_sum(user),
    "value": lambda user, ids: user.read_value(),
    "from a checkpoint": lambda user, ids: user.assign(tf.identity(user.initial_value)),
    "in a branch": lambda user, ids: tf.cond(ids[0] > 0, lambda: tf.gather(user, ids), lambda: tf.zeros([1, DIM])),
    "in a function": lambda user, ids: tf.function(lambda: tf.gather(user, ids))(),
}


def _trained_user(use_resource: bool = True) -> tuple[Any, Any, Any, Any]:
    ids = v1.placeholder(tf.int64, [None], "ids")
    user = v1.get_variable("user", [ROWS, DIM], use_resource=use_resource)
    rows = tf.identity(v1.nn.embedding_lookup(user, ids))
    optimizer = v1.train.AdagradOptimizer(0.1)
    step = optimizer.minimize(tf.reduce_sum(rows**2))
    return user, ids, optimizer.get_slot(user, "accumulator"), step


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("use", USES)
def test_a_use_is_refused(graph: tf.Graph, use: str, use_resource: bool) -> None:
    user, ids, _, _ = _trained_user(use_resource)
    rewrite(graph)
    count = len(graph.get_operations())
    said = r"\(.*\), built at .*test_hook.py:\d+ in .*, uses the variable `user`, .*: build it before"
    with pytest.raises(ValueError, match=said):
        USES[use](user, ids)
    readers = ("ResourceGather", "GatherV2", "Assign", "AssignVariableOp", "SaveV2", "If", "PartitionedCall")
    assert not any(op.type in readers for op in graph.get_operations()[count:])


def test_a_hook_that_begins_later_is_refused() -> None:
    class Decay(v1.train.SessionRunHook):  # type: ignore[misc,name-defined]
        def begin(self) -> None:
            self.op = user.assign(user * 0.9)

    with tf.Graph().as_default():
        user, _, _, _ = _trained_user()
        with pytest.raises(ValueError, match=re.escape("in begin, uses the variable `user`")):
            v1.train.MonitoredSession(hooks=[GraphModifierHook(), Decay()])


@pytest.mark.parametrize("optimizer", ["of before", "of afterwards"])
def test_an_optimizer_that_is_built_afterwards_is_refused(graph: tf.Graph, optimizer: str) -> None:
    ids = v1.placeholder(tf.int64, [None])
    rows = v1.nn.embedding_lookup(v1.get_variable("user", [ROWS, DIM]), ids) + v1.get_variable("bias", [DIM])
    first = v1.train.AdagradOptimizer(0.1)
    if optimizer == "of before":
        first.minimize(tf.reduce_sum(rows))
    rewrite(graph)
    with pytest.raises(TypeError, match="an optimizer that was built after the rewrite cannot update the table `user`"):
        first.minimize(tf.reduce_sum(rows**2))
    dense, sparse = runtime.get_dense_and_sparse_variable()
    assert [one.op.name for one in dense] == ["bias"] and [one.table.table_name for one in sparse] == ["user"]


def test_the_variable_that_stands_for_a_table_is_not_read_as_its_rows(graph: tf.Graph) -> None:
    _trained_user()
    rewrite(graph)
    (stand_in,) = v1.trainable_variables()
    for use in (tf.nn.l2_loss, tf.identity, lambda one: v1.summary.histogram("rows", one), lambda one: one.value()):
        with pytest.raises(TypeError, match="the table `user` in the collections of a rewritten graph holds no rows"):
            use(stand_in)
