"""Many lookups of one table are one: a summed gradient per key and step. Which lookups train, and what says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad, gradient_descent, lazy_adam
from tests.support.runtime.tables import make_table, rows_of, session

pytestmark = pytest.mark.usefixtures("graph")
KEYS = np.arange(12)


def lookups(table: Any, ids: np.ndarray, cut: set[int]) -> tf.Tensor:
    """Loss over one lookup per row of `ids`; those in `cut` let no gradient through."""
    rows = [runtime.sparse_lookup(table, row, is_grad=i not in cut) for i, row in enumerate(ids)]
    return tf.add_n([tf.reduce_sum((i + 1.0) * tf.square(row)) for i, row in enumerate(rows)])


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
