"""`grouped_lookup`: many tables in one op, equal to lookups one by one."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad
from tests.support.runtime.tables import make_table, session

pytestmark = pytest.mark.usefixtures("graph")


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
