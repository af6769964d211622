"""What is built on a variable after it became a table is refused, in the author's line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

import runtime
from rewriter import GraphModifierHook, rewrite

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


def test_the_variable_that_stands_for_a_table_is_not_read_as_its_rows(graph: tf.Graph) -> None:
    _build()
    rewrite(graph)
    (stand_in,) = v1.trainable_variables()
    for use in (tf.nn.l2_loss, tf.identity, lambda one: v1.summary.histogram("rows", one), lambda one: one.value()):
        with pytest.raises(TypeError, match="the table `user` in the collections of a rewritten graph holds no rows"):
            use(stand_in)
