"""`looked_up_rows` against a stock variable: the same rows, each once, and the same steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from tests.support.runtime.tables import make_table, rows_of, session

pytestmark = pytest.mark.usefixtures("graph")
v1 = tf.compat.v1
IDS = ([3, 1, 3], [[7, 1], [2, 7]])


def test_each_row_counts_once_however_many_lookups_read_it() -> None:
    table = make_table()
    runtime.sparse_lookup(table, tf.constant(IDS[0]))
    runtime.sparse_lookup(table, tf.constant(IDS[1], tf.int64), is_train=False)
    rows = runtime.looked_up_rows(table)
    with session() as opened:
        np.testing.assert_array_equal(opened.run(rows), rows_of(opened, table, [3, 1, 7, 2]))
        assert rows.shape.as_list() == [None, 4]


def test_nothing_is_inserted_by_it() -> None:
    table = make_table()
    runtime.sparse_lookup(table, tf.constant([5]), is_train=False)
    rows, size = runtime.looked_up_rows(table), table.size()
    with session() as opened:
        opened.run(rows)
        assert opened.run(size) == 0


def _train(l2: Any, table: Any, first: Any, second: Any, dense: bool) -> list[float]:
    loss = tf.reduce_sum(first * 0.3) + tf.reduce_sum(second**2) + 0.5 * l2
    stock = v1.train.MomentumOptimizer(0.1, 0.9)
    own = runtime.optimizers.momentum.create_hash_optimizer(learning_rate=0.1, momentum=0.9)
    op = stock.minimize(loss, var_list=[table]) if dense else own.minimize(loss)
    with session() as opened:
        if not dense:
            opened.run(table.import_rows(tf.range(9), tf.reshape(tf.range(36.0), [9, 4]) / 36))
        return [opened.run([loss, op])[0] for _ in range(4)]


def test_l2_of_it_trains_as_l2_of_the_same_rows_of_a_variable() -> None:
    with v1.Graph().as_default():
        table = make_table()
        first, second = (runtime.sparse_lookup(table, tf.constant(ids)) for ids in IDS)
        got = _train(tf.nn.l2_loss(runtime.looked_up_rows(table)), table, first, second, dense=False)
    with v1.Graph().as_default():
        variable = v1.get_variable("v", initializer=tf.reshape(tf.range(36.0), [9, 4]) / 36)
        first, second = (tf.nn.embedding_lookup(variable, ids) for ids in IDS)
        batch = tf.nn.embedding_lookup(variable, [3, 1, 7, 2])
        want = _train(tf.nn.l2_loss(batch), variable, first, second, dense=True)
    assert len(set(np.round(want, 3))) == 4
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_pooled_and_grouped_lookups_count_without_the_ids_that_they_leave_out() -> None:
    table, other = make_table(), make_table("item")
    ragged = tf.RaggedTensor.from_row_lengths(tf.constant([4, -1, 4], tf.int64), [2, 1])
    runtime.safe_embedding_lookup_sparse(table, ragged)
    runtime.embedding_lookup_sparse(table, tf.RaggedTensor.from_row_lengths(tf.constant([6, 4], tf.int64), [1, 1]))
    runtime.grouped_lookup([(other, [1, 2]), (table, [8, 6])])
    rows = runtime.looked_up_rows(table)
    with session() as opened:
        np.testing.assert_array_equal(opened.run(rows), rows_of(opened, table, [4, 6, 8]))


def test_what_would_miss_rows_is_an_error() -> None:
    table = make_table()
    with pytest.raises(RuntimeError, match="`user` is not looked up yet"):
        runtime.looked_up_rows(table)
    runtime.sparse_lookup(table, [1])
    runtime.looked_up_rows(table)
    runtime.sparse_lookup(table, [2], is_train=False)
    with pytest.raises(RuntimeError, match="after looked_up_rows"):
        runtime.sparse_lookup(table, [2])
    inner = make_table("inner")
    tf.map_fn(lambda i: tf.reduce_sum(runtime.sparse_lookup(inner, i)), tf.constant([1, 2]), dtype=tf.float32)
    with pytest.raises(RuntimeError, match="outside of loops"):
        runtime.looked_up_rows(inner)


def test_what_is_no_table_stays_as_it_is() -> None:
    with tf.Graph().as_default():
        variable = tf.compat.v1.get_variable("v", [2, 3])
        parted = tf.compat.v1.get_variable("p", [4, 3], partitioner=tf.compat.v1.fixed_size_partitioner(2))
        tensor = tf.zeros([2])
        for one in (variable, parted, tensor):
            assert runtime.looked_up_rows(one) is one
        with pytest.raises((TypeError, ValueError)):
            runtime.looked_up_rows("v")
