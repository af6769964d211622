"""`sparse_lookup`: shapes, id types, insertion, errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from tests.support.runtime.tables import make_table, rows_of, session

pytestmark = pytest.mark.usefixtures("graph")


@pytest.mark.parametrize("shape", [[], [3], [2, 3], [2, 1, 3], [2, 1, 2, 1, 3], [0], [0, 3], [2, 0, 1]])
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_result_has_the_shape_of_the_ids_and_dim(shape: list[int], dtype: tf.DType) -> None:
    table = make_table()
    rows = runtime.sparse_lookup(table, tf.zeros(shape, dtype))
    assert rows.shape.as_list() == [*shape, 4]
    with session() as opened:
        assert opened.run(rows).shape == (*shape, 4)


def test_unknown_dimensions_stay_unknown() -> None:
    table = make_table()
    ids = tf.compat.v1.placeholder(tf.int64, [None, 3])
    anything = tf.compat.v1.placeholder(tf.int64)
    assert runtime.sparse_lookup(table, ids).shape.as_list() == [None, 3, 4]
    unknown = runtime.sparse_lookup(table, anything)
    assert unknown.shape.rank is None
    with session() as opened:
        assert opened.run(unknown, {anything: [[1], [2]]}).shape == (2, 1, 4)


@pytest.mark.parametrize("shape", [[], [4], [1, 4], [6, 1], [6, 4]], ids=str)
def test_an_id_without_row_reads_the_serving_default_in_evaluation_only(shape: list[int]) -> None:
    table = make_table()
    default = np.arange(1.0, 1.0 + np.prod(shape, dtype=int)).reshape(shape).astype(np.float32)
    ids = tf.compat.v1.placeholder(tf.int32, [None, 3])
    training = tf.compat.v1.placeholder(tf.bool, [])
    rows = runtime.sparse_lookup(table, ids, is_train=training, serving_default_value=tf.constant(default))
    assert rows.shape.as_list() == [None, 3, 4]
    gradient = tf.gradients(tf.reduce_sum(rows), table.variable)[0]
    feed = {ids: [[1, 7, 1], [2, 8, 7]]}
    with session() as opened:
        opened.run(runtime.sparse_lookup(table, [7]))
        seeded = rows_of(opened, table, np.array([1, 7, 1, 2, 8, 7]))
        wanted = np.broadcast_to(default, [6, 4]).copy()
        wanted[[1, 5]] = seeded[[1, 5]]
        np.testing.assert_array_equal(opened.run(rows, {**feed, training: False}).reshape(-1, 4), wanted)
        assert opened.run(table.size()) == 1
        cut = opened.run(gradient.values, {**feed, training: False})
        np.testing.assert_array_equal(cut[:, 0], [0, 1, 0, 0, 0, 1])
        np.testing.assert_array_equal(opened.run(rows, {**feed, training: True}).reshape(-1, 4), seeded)
        assert opened.run(table.size()) == 4


def test_is_train_may_be_a_tensor() -> None:
    table = make_table()
    training = tf.compat.v1.placeholder(tf.bool, [])
    rows = runtime.sparse_lookup(table, [1, 2], is_train=training)
    assert rows.shape.as_list() == [2, 4]
    with session() as opened:
        read = opened.run(rows, {training: False})
        assert opened.run(table.size()) == 0
        np.testing.assert_array_equal(opened.run(rows, {training: True}), read)
        assert opened.run(table.size()) == 2


def test_is_grad_false_cuts_the_gradient() -> None:
    table = make_table()
    assert tf.gradients(runtime.sparse_lookup(table, [1], is_grad=False), table.variable) == [None]


def test_ragged_ids_give_ragged_rows() -> None:
    table = make_table()
    ids = tf.ragged.constant([[[1], []], [[2, 3]], []], dtype=tf.int32)
    rows = runtime.sparse_lookup(table, ids, name="ragged")
    assert isinstance(rows, tf.RaggedTensor)
    assert rows.shape.as_list() == [3, None, None, 4]
    gradient = tf.gradients(tf.reduce_sum(rows.flat_values * [[1.0], [2.0], [3.0]]), table.variable)[0]
    with session() as opened:
        values = opened.run(rows)
        np.testing.assert_array_equal(values.flat_values, rows_of(opened, table, [1, 2, 3]))
        np.testing.assert_array_equal(values.row_splits, [0, 2, 3, 3])
        keys, sums = opened.run([gradient.indices, gradient.values])
    np.testing.assert_array_equal(keys, [1, 2, 3])
    np.testing.assert_array_equal(sums[:, 0], [1, 2, 3])


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (lambda: tf.compat.v1.placeholder(tf.float32, [None]), r"float32: cast them with tf.cast\(ids, tf.int64\)"),
        (lambda: tf.zeros([2], tf.uint8), r"uint8: cast them"),
        (lambda: tf.constant(["a"]), "to_hash_bucket_fast"),
        (lambda: tf.sparse.from_dense([[1]]), "pool them with runtime.embedding_lookup_sparse"),
        (lambda: object(), "Invalid parameter type of para `ids`"),
    ],
)
def test_refuses_ids(ids: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        runtime.sparse_lookup(make_table(), ids())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"is_train": 1}, "Invalid parameter type of para `is_train`"),
        ({"name": ""}, "length is less than 1"),
        ({"name": 5}, "is not str"),
        ({"modify_graph": "yes"}, "Invalid parameter type of para `modify_graph`"),
        ({"is_grad": 0}, "Invalid parameter type of para `is_grad`"),
        ({"access_and_evict_config": {"access_threshold": -2}}, "is less than -1"),
        ({"serving_default_value": "zero"}, "`serving_default_value` 'zero' of the table `user` must be float32"),
        ({"serving_default_value": np.array(["a"])}, "must be float32 and broadcast to"),
        ({"serving_default_value": np.zeros([2, 4], np.float32)}, r"must be float32 and broadcast to \[1, 4\]"),
        ({"serving_default_value": [0.0, 0.0]}, "must be float32 and broadcast to"),
    ],
)
def test_refuses_arguments(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        runtime.sparse_lookup(make_table(), [1], **changed)


def test_takes_tables_alone() -> None:
    with pytest.raises(ValueError, match="Invalid parameter type of para `hashtable`"):
        runtime.sparse_lookup(tf.zeros([2, 2]), [1])


@pytest.mark.parametrize("look_up", [tf.nn.embedding_lookup, tf.gather, tf.gather_nd])
def test_a_stock_lookup_of_the_anchor_names_the_right_one(look_up: Any) -> None:
    with pytest.raises(TypeError, match=r"table `user` holds no rows: .*runtime.sparse_lookup\(table, ids\)"):
        look_up(make_table().variable, [[1]])


def test_a_table_of_another_graph_is_refused() -> None:
    table = make_table()
    with tf.Graph().as_default(), pytest.raises(ValueError, match="belongs to another graph"):
        runtime.sparse_lookup(table, [1])
