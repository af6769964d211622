"""Pooling on the rank that asked for the rows, against stock TensorFlow where weights sum to zero."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat.sok import pooling as sok_pooling
from runtime.ranks import pooling

ROWS = np.arange(1, 13, dtype=np.float32).reshape(6, 2)
#: Of the bags the first sums to 0, the second has weights of 0 alone, the third is empty, the last is plain.
LENGTHS, WEIGHTS = [2, 2, 0, 2], np.array([1, -1, 0, 0, 0.5, 2], np.float32)


@pytest.mark.parametrize("combiner", ["mean", "sqrtn"])
def test_weights_that_sum_to_zero_give_what_stock_tensorflow_gives(combiner: str) -> None:
    bags = tf.constant(np.repeat(np.arange(4), LENGTHS))
    ids = tf.RaggedTensor.from_row_lengths(tf.range(6, dtype=tf.int64), LENGTHS)
    rows, weights = tf.constant(ROWS), tf.constant(WEIGHTS)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([rows, weights])
        scales = tf.RaggedTensor.from_row_lengths(weights, LENGTHS)
        want = tf.nn.embedding_lookup_sparse(rows, ids.to_sparse(), scales.to_sparse(), combiner)
        count = tf.constant(4, tf.int64)
        got = [pooling.pooled(ids.values, bags, weights, count, combiner, None).combine(rows)]
        if combiner == "mean":
            got.append(sok_pooling.pooled(rows, sok_pooling.bags_of(ids, scales), combiner))
    slopes = tf.convert_to_tensor(tape.gradient(want, rows))
    for one in got:
        np.testing.assert_allclose(one, want, rtol=1e-6)
        np.testing.assert_allclose(tf.convert_to_tensor(tape.gradient(one, rows)), slopes, rtol=1e-6)
        assert np.isfinite(tape.gradient(one, weights)).all()
