"""Many lookups of one table are one; gradients inside of branches, loops and `tf.recompute_grad`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad, gradient_descent, lazy_adam
from tests.support.runtime.tables import make_table, rows_of, session

KEYS = np.arange(12)


def lookups(table: Any, ids: np.ndarray, cut: set[int]) -> tf.Tensor:
    """Loss over one lookup per row of `ids`; those in `cut` let no gradient through."""
    rows = [runtime.sparse_lookup(table, row, is_grad=i not in cut) for i, row in enumerate(ids)]
    return tf.add_n([tf.reduce_sum((i + 1.0) * tf.square(row)) for i, row in enumerate(rows)])


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("make", [adagrad, lazy_adam, gradient_descent], ids=lambda module: module.__name__)
@pytest.mark.parametrize("count", [2, 200])
def test_many_lookups_train_as_one_concatenated_lookup_does(make: Any, count: int) -> None:
    ids = np.random.default_rng(count).integers(0, 12, [count, 3])
    cut = {1, count // 2, count - 1} - {0}
    many, one = make_table("many"), make_table("one", initializer=tf.compat.v1.random_normal_initializer(seed=7))
    kept = [i for i in range(count) if i not in cut]
    weights = tf.repeat(tf.constant([i + 1.0 for i in kept]), 3)[:, None]
    joined = tf.reduce_sum(weights * tf.square(runtime.sparse_lookup(one, ids[kept].reshape(-1))))
    steps = [
        make.create_hash_optimizer(0.01, name=name).minimize(loss, var_list=[table.variable])
        for name, table, loss in (("a", many, lookups(many, ids, cut)), ("b", one, joined))
    ]
    imported = one.import_rows(KEYS, runtime.sparse_lookup(many, KEYS, is_train=False))
    with session() as opened:
        opened.run(imported)
        before = rows_of(opened, many, KEYS)
        for _ in range(3):
            opened.run(steps)
        after = rows_of(opened, many, KEYS)
        np.testing.assert_array_equal(after, rows_of(opened, one, KEYS))
    assert not np.array_equal(before, after)


@pytest.mark.usefixtures("graph")
def test_a_table_that_no_lookup_trains_is_named_by_the_optimizer() -> None:
    table, frozen = make_table(), make_table("frozen")
    rows = runtime.sparse_lookup(table, [1]), runtime.sparse_lookup(frozen, [1], is_grad=False)
    loss = tf.reduce_sum(rows[0] * rows[1])
    optimizer = adagrad.create_hash_optimizer(0.1)
    pairs = optimizer.compute_gradients(loss, [table.variable, frozen.variable])
    with pytest.raises(ValueError, match=r"cannot train \['frozen'\]: all their lookups have is_grad=False"):
        optimizer.apply_gradients(pairs)
    assert [variable for _, variable in optimizer.compute_gradients(loss)] == [table.variable]
    runtime.sparse_lookup(frozen, [2])
    assert len(optimizer.compute_gradients(loss)) == 2


@pytest.mark.usefixtures("graph")
def test_slices_name_keys_and_anchor_width() -> None:
    table = make_table()
    (slices,) = tf.gradients(runtime.sparse_lookup(table, tf.constant([[3, 4]])), table.variable)
    assert isinstance(slices, tf.IndexedSlices)
    assert (slices.indices.dtype, slices.values.shape.as_list()) == (tf.int64, [2, 4])


@pytest.mark.usefixtures("graph")
def test_lookup_in_a_while_loop_trains_or_is_refused_by_name() -> None:
    table = make_table()
    look = lambda i, total: (i + 1, total + tf.reduce_sum(runtime.sparse_lookup(table, i)))  # noqa: E731
    _, total = tf.while_loop(lambda i, _: i < 3, look, [tf.constant(0, tf.int64), 0.0])
    with pytest.raises(ValueError, match=r"`user` is no longer tf.IndexedSlices.*before a tf.while_loop"):
        gradient_descent.create_hash_optimizer(0.1).minimize(total)


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
