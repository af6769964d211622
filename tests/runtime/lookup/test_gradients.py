"""Gradients with respect to a table's anchor, against a dense variable of stock TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import gradient_descent
from tests.support.runtime.tables import make_table, rows_of, session

pytestmark = pytest.mark.usefixtures("graph")

_IDS = np.array([[1, 2, 2], [5, 1, 2]])


def _dense(slices: tf.IndexedSlices) -> tf.Tensor:
    return tf.math.unsorted_segment_sum(slices.values, slices.indices, 8)


def _gradients(transform: Callable[[Any, Any], Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return dense gradients [8, 4] of the same loss for a table and for a variable, both passed to `transform`."""
    table = make_table()
    with session() as opened:
        initial = rows_of(opened, table, range(8))
    weights = tf.compat.v1.get_variable("weights", initializer=initial)
    results = []
    for target, look in (
        (table.variable, lambda ids: runtime.sparse_lookup(table, ids)),
        (weights, lambda ids: tf.nn.embedding_lookup(weights, ids)),
    ):
        results.append(_dense(transform(look, target)))
    with session() as opened:
        ours, stock = opened.run(results)
    return ours, stock


def _loss(rows: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.sin(rows) * tf.range(1.0, 5.0))


def test_lookups_of_one_table_are_concatenated() -> None:
    def transform(look: Any, target: Any) -> Any:
        loss = _loss(look(_IDS)) + _loss(look([7, 1])) * tf.reduce_sum(look(np.int32(3)))
        return tf.gradients(loss, target)[0]

    ours, stock = _gradients(transform)
    np.testing.assert_allclose(ours, stock, rtol=1e-6)
    assert np.abs(ours[3]).max() > 0


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize("beside", [True, False])
def test_lookup_in_one_branch_of_cond(taken: bool, beside: bool) -> None:
    def transform(look: Any, target: Any) -> Any:
        branch = tf.compat.v1.placeholder_with_default(taken, [])
        rows = tf.cond(branch, lambda: look(_IDS), lambda: tf.zeros([2, 3, 4]))
        return tf.gradients(_loss(rows) + (_loss(look([6])) if beside else 0.0), target)[0]

    ours, stock = _gradients(transform)
    np.testing.assert_allclose(ours, stock, rtol=1e-6)
    assert (np.abs(ours).max() > 0) == (taken or beside)


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
