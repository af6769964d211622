"""What is built on a variable after it became a table is refused, in the author's line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from rewriter import GraphModifierHook, move_ids, rewrite

v1 = tf.compat.v1
ROWS, DIM = 30, 4

USES: dict[str, Callable[[Any, Any], Any]] = {
    "lookup": lambda user, ids: v1.nn.embedding_lookup(user, ids),
    "gather": lambda user, ids: tf.gather(user, ids),
    "assign": lambda user, ids: v1.assign(user, tf.zeros([ROWS, DIM])),
    "method": lambda user, ids: user.assign_add(tf.ones([ROWS, DIM])),
    "scatter": lambda user, ids: v1.scatter_update(user, ids, tf.zeros([1, DIM])),
    "whole": lambda user, ids: tf.reduce_sum(user),
    "value": lambda user, ids: user.read_value(),
    "saver": lambda user, ids: v1.train.Saver([user]),
    "from a checkpoint": lambda user, ids: user.assign(tf.identity(user.initial_value)),
    "in a branch": lambda user, ids: tf.cond(ids[0] > 0, lambda: tf.gather(user, ids), lambda: tf.zeros([1, DIM])),
    "in a function": lambda user, ids: tf.function(lambda: tf.gather(user, ids))(),
}


def _build(use_resource: bool = True) -> tuple[Any, Any, Any, Any]:
    ids = v1.placeholder(tf.int64, [None], "ids")
    user = v1.get_variable("user", [ROWS, DIM], use_resource=use_resource)
    rows = tf.identity(v1.nn.embedding_lookup(user, ids))
    optimizer = v1.train.AdagradOptimizer(0.1)
    step = optimizer.minimize(tf.reduce_sum(rows**2))
    return user, ids, optimizer.get_slot(user, "accumulator"), step


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("use", USES)
def test_a_use_is_refused(graph: tf.Graph, use: str, use_resource: bool) -> None:
    user, ids, _, _ = _build(use_resource)
    rewrite(graph)
    count = len(graph.get_operations())
    said = r"\(.*\), built at .*test_built_afterwards.py:\d+ in .*, uses the variable `user`, .*: build it before"
    with pytest.raises(ValueError, match=said):
        USES[use](user, ids)
    readers = ("ResourceGather", "GatherV2", "Assign", "AssignVariableOp", "SaveV2", "If", "PartitionedCall")
    assert not any(op.type in readers for op in graph.get_operations()[count:])


def test_the_slots_are_refused_and_others_are_not(graph: tf.Graph) -> None:
    _, ids, slot, _ = _build()
    other = v1.get_variable("other", [ROWS, DIM])
    rewrite(graph)
    with pytest.raises(ValueError, match="uses the variable `user/Adagrad`"):
        tf.reduce_sum(slot)
    rows = v1.nn.embedding_lookup(other, ids)
    assert rewrite(graph).tables[0].name == "other"
    with pytest.raises(ValueError, match="uses the variable `other`"):
        v1.assign(other, tf.zeros([ROWS, DIM]))
    with pytest.raises(ValueError, match="uses the variable `user/Adagrad`"):
        tf.reduce_sum(slot)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        assert session.run(rows, {ids: [1]}).shape == (1, DIM)


def test_a_rewrite_that_is_taken_back_refuses_nothing(graph: tf.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    user, ids, _, _ = _build()
    rewrite(graph, dry_run=True)
    USES["lookup"](user, ids)

    def fail(*_: Any) -> None:
        raise RuntimeError("as if a check had failed")

    with monkeypatch.context() as patched:
        patched.setattr("rewriter.rewrite_graph.check_collections", fail)
        with pytest.raises(RuntimeError, match="as if"):
            rewrite(graph)
    USES["lookup"](user, ids)


def test_what_uses_the_table_may_be_built(graph: tf.Graph, tmp_path: Path) -> None:
    user, ids, _, step = _build()
    setting = user.assign(tf.ones([ROWS, DIM]))
    rows = graph.get_tensor_by_name("Identity:0")
    rewrite(graph)
    move_ids(graph)
    after = tf.group(step, v1.summary.histogram("rows", rows * 2.0).op)
    anew = tf.group(setting)
    known = v1.is_variable_initialized(user)
    saver = v1.train.Saver()
    with v1.Session() as session:
        session.run([v1.global_variables_initializer(), v1.variables_initializer([user])])
        session.run([after, known], {ids: [1, 2]})
        session.run(anew)
        saver.save(session, str(tmp_path / "model"))
        np.testing.assert_array_equal(session.run(rows, {ids: [5]}), np.ones([1, DIM]))


def test_a_hook_that_begins_later_is_refused() -> None:
    class Decay(v1.train.SessionRunHook):  # type: ignore[misc,name-defined]
        def begin(self) -> None:
            self.op = user.assign(user * 0.9)

    with tf.Graph().as_default():
        user, _, _, _ = _build()
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


def test_a_saver_of_the_trainable_variables_has_the_rows(graph: tf.Graph, tmp_path: Path) -> None:
    _build()
    frozen = v1.get_variable("frozen", [ROWS, DIM], trainable=False)
    v1.nn.embedding_lookup(frozen, [1])
    assert len(rewrite(graph).tables) == 2
    saver = v1.train.Saver(v1.trainable_variables())
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        names = dict(tf.train.list_variables(saver.save(session, str(tmp_path / "m"))))
    assert names["user-values"] == [ROWS, DIM] and "frozen-values" not in names


def test_the_variable_that_stands_for_a_table_is_not_read_as_its_rows(graph: tf.Graph) -> None:
    _build()
    rewrite(graph)
    (stand_in,) = v1.trainable_variables()
    for use in (tf.nn.l2_loss, tf.identity, lambda one: v1.summary.histogram("rows", one), lambda one: one.value()):
        with pytest.raises(TypeError, match="the table `user` in the collections of a rewritten graph holds no rows"):
            use(stand_in)
