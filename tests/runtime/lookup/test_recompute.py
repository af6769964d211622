"""`tf.recompute_grad`: rows that a function is given train as stock ones; lookups inside of it are an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from tests.support.runtime.tables import make_table

_IDS = tf.constant([8, 8, 3], tf.int64)


def _gradient(loss: Any, variable: Any, traced: bool) -> Any:
    def step() -> Any:
        with tf.GradientTape() as tape:
            value = loss()
        return tape.gradient(value, variable)

    return (tf.function(step) if traced else step)()


@pytest.mark.parametrize("traced", [False, True])
def test_rows_that_are_given_have_the_gradient_of_stock_ones(traced: bool) -> None:
    table = make_table(dim=2, initializer=tf.ones_initializer())
    stock = tf.Variable(tf.ones([10, 2]))
    squared = tf.recompute_grad(lambda rows: tf.square(2.0 * rows))
    ours = _gradient(lambda: tf.reduce_sum(squared(runtime.sparse_lookup(table, _IDS))), table.variable, traced)
    want = _gradient(lambda: tf.reduce_sum(squared(tf.gather(stock, _IDS))), stock, traced)
    np.testing.assert_array_equal(ours.indices, want.indices)
    np.testing.assert_array_equal(ours.values, want.values)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("pooled", [False, True])
def test_a_lookup_inside_is_an_error(traced: bool, pooled: bool) -> None:
    table = make_table(dim=2)
    bags = tf.sparse.from_dense([[8, 3], [8, 0]])

    def looked_up(scale: Any) -> Any:
        rows = runtime.embedding_lookup_sparse(table, bags, None) if pooled else runtime.sparse_lookup(table, _IDS)
        return scale * rows

    inside = tf.recompute_grad(looked_up)
    with pytest.raises(ValueError, match=r"a lookup inside of tf\.recompute_grad has no gradient for its table"):
        _gradient(lambda: tf.reduce_sum(inside(tf.constant(2.0))), table.variable, traced)
