"""Lookups that take their anchor as a resource, which nothing reads: nodes, shapes, gradients, and graphs of old."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import native
from runtime.optimizers import adagrad
from tests.support.raw_table import RawTable
from tests.support.runtime.tables import make_table, session

v1: Any = tf.compat.v1
_IDS = np.array([[1, 2, 2], [5, 1, 2]])


def _ways(table: Any, ids: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Return rows looked up by the anchor's resource, and by its value as in graphs of version 0.1."""
    anchor, look_up = table.variable, native.ops().rec_lookup
    return look_up(table.handle, anchor.reference(), ids, [anchor.like]), look_up(
        table.handle, anchor.tensor(), ids, []
    )


@pytest.mark.usefixtures("graph")
def test_a_lookup_reads_its_handle_alone() -> None:
    table = make_table()
    before = set(v1.get_default_graph().get_operations())
    rows = runtime.sparse_lookup(table, v1.placeholder(tf.int64, [None]))
    assert rows.shape.as_list() == [None, 4]
    added = Counter(op.type for op in v1.get_default_graph().get_operations() if op not in before)
    assert added == {"Placeholder": 1, "Const": 1, "RecLookupOrInsert": 1}  # beside one read of the handle for all
    assert [one.op.type for one in rows.op.inputs] == ["ReadVariableOp", "VarHandleOp", "Placeholder", "Const"]


@pytest.mark.usefixtures("graph")
def test_both_ways_have_the_same_rows_shapes_and_gradients() -> None:
    table = make_table()
    ways = _ways(table, tf.constant(_IDS))
    gradients = [tf.gradients(tf.sin(rows), table.variable)[0] for rows in ways]
    assert [rows.shape.as_list() for rows in ways] == [[2, 3, 4]] * 2
    with session() as opened:
        (new, old), parts = opened.run([ways, [(one.values, one.indices, one.dense_shape) for one in gradients]])
    np.testing.assert_array_equal(new, old)
    for mine, theirs in zip(*parts, strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype


def test_a_graph_without_the_new_attributes_is_loaded(tmp_path: Path) -> None:
    """Lookups of version 0.1 have neither `Tanchor` nor `likes`."""
    with tf.Graph().as_default() as graph:
        table = RawTable(graph)
        ops = native.ops()
        rows = ops.rec_lookup_or_insert(table.handle, table.anchor, tf.constant([3, 4], tf.int64), [], name="one")
        (grouped,) = ops.rec_lookup_group([table.handle], [table.anchor], [tf.constant([3, 4], tf.int64)], [])
        definition = graph.as_graph_def()
        for node in definition.node:
            for attribute in ("Tanchor", "likes"):
                node.attr.pop(attribute, None)
    with tf.Graph().as_default():
        names = [rows.name, grouped.name]
        first, second = tf.import_graph_def(definition, name="", return_elements=names)
        assert first.shape.as_list() == second.shape.as_list() == [2, 2]
        with v1.Session() as opened:
            np.testing.assert_array_equal(opened.run(first), opened.run(second))


def test_two_sessions_of_one_graph_have_rows_of_their_own() -> None:
    with tf.Graph().as_default():
        table = runtime.create_table(tf.int64, 2, "user", v1.ones_initializer(), 10)
        rows = runtime.sparse_lookup(table, tf.constant([1, 2]))
        trained = adagrad.create_hash_optimizer(0.1, 0.1).minimize(tf.nn.l2_loss(rows))
        with v1.Session() as one, v1.Session() as other:
            for opened in (one, other):
                opened.run(v1.global_variables_initializer())
            for _ in range(3):
                one.run(trained)
            assert np.all(one.run(rows) < 1) and np.all(other.run(rows) == 1)
        with v1.Session() as third, pytest.raises(tf.errors.FailedPreconditionError):
            third.run(rows)  # neither initialized nor restored


@pytest.mark.parametrize("control", ["v1", "v2"])
def test_loops_and_branches_have_the_gradients_of_a_variable(control: str) -> None:
    def loss(look: Any) -> tf.Tensor:
        def body(step: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            rows = look(tf.stack([step, step + 1, step]))
            return step + 1, total + tf.reduce_sum(tf.sin(rows) * tf.cast(step + 1, tf.float32))

        start = [tf.constant(0, tf.int64), tf.constant(0.0)]
        # A loop of v2 has dense gradients, which no table has.
        total = tf.while_loop(lambda step, _: step < 3, body, start)[1] if control == "v1" else body(*start)[1]
        return total + 3.0 * tf.cond(total > -1e9, lambda: tf.reduce_sum(look(tf.constant([6, 2]))), lambda: total)

    had_v2 = v1.control_flow_v2_enabled()
    v1.enable_control_flow_v2() if control == "v2" else v1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default():
            table = runtime.create_table(tf.int64, 4, "user", v1.ones_initializer(), 10)
            dense = v1.get_variable("dense", initializer=tf.ones([8, 4]), use_resource=True)
            slices = [
                tf.gradients(loss(lambda ids: runtime.sparse_lookup(table, ids)), table.variable)[0],
                tf.gradients(loss(lambda ids: tf.nn.embedding_lookup(dense, ids)), dense)[0],
            ]
            sums = [tf.math.unsorted_segment_sum(one.values, one.indices, 8) for one in slices]
            with session() as opened:
                ours, stock = opened.run(sums)
    finally:
        v1.enable_control_flow_v2() if had_v2 else v1.disable_control_flow_v2()
    np.testing.assert_allclose(ours, stock, rtol=1e-6)
    assert np.abs(ours).max() > 1
