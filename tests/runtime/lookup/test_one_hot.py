"""`one_hot_lookup` beside the product of one-hot ids with a variable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adam

_V1 = tf.compat.v1
_ROWS = np.random.RandomState(2).normal(size=(5, 3)).astype(np.float32)
_IDS = np.array([[1, 4, -1], [5, 1, 10**6]])


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_it_trains_as_the_product(dtype: Any) -> None:
    results = []
    for ours in (False, True):
        with tf.Graph().as_default(), _V1.Session() as session:
            ids = tf.constant(_IDS, dtype)
            if ours:
                table = runtime.table_of_rows(_ROWS, "w")
                rows = runtime.one_hot_lookup(table, ids, 5)
                optimizer, whole = adam.create_hash_optimizer(0.1), runtime.all_rows(table, 5)
            else:
                variable = _V1.get_variable("w", initializer=_ROWS)
                rows, whole = tf.tensordot(tf.one_hot(ids, 5), variable, 1), variable
                optimizer = _V1.train.AdamOptimizer(0.1)
            loss = tf.reduce_sum(tf.square(rows - 1.0))
            step = optimizer.minimize(loss)
            session.run(_V1.global_variables_initializer())
            losses = [session.run([loss, step])[0] for _ in range(3)]
            results.append((session.run(rows), losses, session.run(whole)))
            if ours:
                assert session.run(table.size()) == 5
    for stock, found in zip(*results, strict=True):
        np.testing.assert_allclose(found, stock, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [tf.uint8, tf.int8])
def test_ids_of_one_byte_as_one_hot_takes_them(dtype: Any) -> None:
    table, ids = runtime.table_of_rows(_ROWS, "w"), np.array([1, 100, 4])
    expected = tf.matmul(tf.one_hot(tf.constant(ids, dtype), 5), _ROWS)
    for given in (tf.constant(ids, dtype), ids.astype(dtype.as_numpy_dtype)):
        np.testing.assert_allclose(runtime.one_hot_lookup(table, given, 5), expected)


def test_a_depth_that_is_a_tensor_and_a_name() -> None:
    table = runtime.table_of_rows(_ROWS, "w")
    rows = runtime.one_hot_lookup(table, _IDS, tf.constant(2), is_train=False, name="picked")
    np.testing.assert_allclose(rows, tf.tensordot(tf.one_hot(_IDS, 2), _ROWS[:2], 1))
    with pytest.raises(ValueError, match="float32: cast them"):
        runtime.one_hot_lookup(table, [0.5], 2)
