"""Rows of two bytes have the same bits on one rank and on two, wherever they lie: rounding knows no ranks."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad
from tests.support.ranks import thread_ranks
from tests.support.runtime import rounding

_BATCHES = np.random.default_rng(0).integers(0, 20, [15, 8])


@pytest.mark.parametrize("placement", ["distributed", "replicated"])
def test_two_ranks_round_as_one_does(placement: str) -> None:
    def train() -> np.ndarray:
        start = tf.random_normal_initializer(seed=7)
        table = runtime.create_table(tf.int64, 6, "item", start, value_dtype="bfloat16", placement=placement)
        optimizer = adagrad.create_hash_optimizer(0.1, 0.1)
        for batch in _BATCHES:
            own = np.array_split(batch, runtime.ranks.size())[runtime.ranks.rank()]
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(runtime.sparse_lookup(table, own)) * 0.25
            optimizer.apply_gradients([(tape.gradient(loss, table.variable), table.variable)])
        return np.asarray(runtime.sparse_lookup(table, np.arange(20), is_train=False))

    (alone,), _ = thread_ranks.run(1, train)
    for rows in thread_ranks.run(2, train)[0]:
        np.testing.assert_array_equal(rows, alone)
    np.testing.assert_array_equal(alone, rounding.nearest(alone, tf.bfloat16))
