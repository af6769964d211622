"""Gradients with respect to a table's anchor, against a dense variable of stock TensorFlow."""

from __future__ import annotations

import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import gradient_descent
from tests.support.runtime.tables import make_table

pytestmark = pytest.mark.usefixtures("graph")


def test_slices_name_keys_and_anchor_width() -> None:
    table = make_table()
    (slices,) = tf.gradients(runtime.sparse_lookup(table, tf.constant([[3, 4]])), table.variable)
    assert isinstance(slices, tf.IndexedSlices)
    assert (slices.indices.dtype, slices.values.shape.as_list()) == (tf.int64, [2, 4])


def test_lookup_in_a_while_loop_trains_or_is_refused_by_name() -> None:
    table = make_table()
    look = lambda i, total: (i + 1, total + tf.reduce_sum(runtime.sparse_lookup(table, i)))  # noqa: E731
    _, total = tf.while_loop(lambda i, _: i < 3, look, [tf.constant(0, tf.int64), 0.0])
    with pytest.raises(ValueError, match=r"`user` is no longer tf.IndexedSlices.*before a tf.while_loop"):
        gradient_descent.create_hash_optimizer(0.1).minimize(total)
