"""`grouped_lookup`: many tables in one op, equal to lookups one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad
from tests.support.runtime.tables import make_table, session

pytestmark = pytest.mark.usefixtures("graph")


def ids_of(i: int) -> Any:
    """Ids of different ranks and types."""
    ids = np.random.default_rng(i).integers(-9, 9, [4, i % 4, 2][: 1 + i % 3])
    return tf.constant(ids, (tf.int32, tf.int64)[i % 2])


def test_rows_shapes_and_gradients_are_those_of_single_lookups() -> None:
    tables = [make_table(f"t{i}", dim=1 + i) for i in range(9)]
    pairs = [(table, ids_of(i)) for i, table in enumerate(tables)]
    grouped = runtime.grouped_lookup(pairs)
    single = [runtime.sparse_lookup(*pair) for pair in pairs]
    anchors = [table.variable for table in tables]
    assert [rows.shape for rows in grouped] == [rows.shape for rows in single]
    assert len([op for op in tf.compat.v1.get_default_graph().get_operations() if "Group" in op.type]) == 1
    losses = [tf.add_n([tf.reduce_sum(rows**2) for rows in group]) for group in (grouped, single)]
    gradients = [tf.gradients(loss, anchors) for loss in losses]
    with session() as opened:
        # The first run inserts: the grouped op must do so on its own.
        values = opened.run(grouped)
        for rows, other in zip(values, opened.run(single), strict=True):
            np.testing.assert_array_equal(rows, other)
        assert opened.run([table.size() for table in tables]) == [len(set(opened.run(i).flat)) for _, i in pairs]
        for ours, other in zip(*opened.run(gradients), strict=True):
            np.testing.assert_array_equal(ours.indices, other.indices)
            np.testing.assert_array_equal(ours.values, other.values)


def test_updates_wait_for_grouped_lookups_of_the_same_step() -> None:
    table, other = make_table(), make_table("other")
    ids = tf.compat.v1.placeholder(tf.int64, [None])
    rows = runtime.sparse_lookup(table, ids)
    step = adagrad.create_hash_optimizer(1.0).minimize(tf.reduce_sum(rows))
    seen, _ = runtime.grouped_lookup([(table, ids), (other, ids)])
    with session() as opened:
        for _ in range(20):
            before = opened.run(seen, {ids: [1]})
            got, _ = opened.run([seen, step], {ids: [1]})
            np.testing.assert_array_equal(got, before)


def test_switches_and_ragged_ids() -> None:
    table, other = make_table(), make_table("other")
    training = tf.compat.v1.placeholder(tf.bool, [])
    ragged = tf.ragged.constant([[1], [], [2, 3]], dtype=tf.int64)
    first, second = runtime.grouped_lookup([(table, ragged), (other, 7)], is_train=training)
    assert first.shape.as_list() == [3, None, 4]
    assert second.shape.as_list() == [4]
    with session() as opened:
        values = opened.run(first, {training: False})
        assert opened.run([table.size(), other.size()]) == [0, 0]
        np.testing.assert_array_equal(values.flat_values, opened.run(first, {training: True}).flat_values)
        assert opened.run([table.size(), other.size()]) == [3, 1]
    third = make_table("third")
    assert tf.gradients(runtime.grouped_lookup([(third, [1])], is_grad=False)[0], third.variable) == [None]


def test_refuses() -> None:
    table = make_table()
    with pytest.raises(ValueError, match="nothing to look up"):
        runtime.grouped_lookup([])
    with pytest.raises(ValueError, match="float32: cast them"):
        runtime.grouped_lookup([(table, [1.0])])
    with pytest.raises(ValueError, match="pool them"):
        runtime.grouped_lookup([(table, tf.sparse.from_dense([[1]]))])
    with pytest.raises(ValueError, match="Invalid parameter type of para `hashtable`"):
        runtime.grouped_lookup([("user", [1])])
    with pytest.raises(ValueError, match="Invalid parameter type of para `is_train`"):
        runtime.grouped_lookup([(table, [1])], is_train="yes")
