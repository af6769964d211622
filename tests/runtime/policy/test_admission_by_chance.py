"""Admission with a probability: the binomial distribution over lookups, evaluation, gradients, checkpoints."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import gradient_descent
from runtime.table import admission_rules
from tests.support.runtime.tables import make_table, session

KEYS = np.arange(10_000)


def test_a_probability_is_a_threshold_of_one() -> None:
    rules = admission_rules.parse({"access_probability": 0.25, "eviction_threshold": 9})
    assert (rules.access_threshold, rules.eviction_threshold, rules.access_probability) == (1, 9, 0.25)
    assert not rules.agrees(admission_rules.parse({"access_threshold": 1, "eviction_threshold": 9}))


@pytest.mark.parametrize("probability", [0.01, 0.5])
def test_rows_come_by_the_law_and_only_their_gradients_are_applied(probability: float) -> None:
    with tf.Graph().as_default():
        table = make_table(dim=1)
        config = {"access_probability": probability}
        rows = runtime.sparse_lookup(table, KEYS, access_and_evict_config=config)
        read = runtime.sparse_lookup(table, KEYS, is_train=False)
        step = gradient_descent.create_hash_optimizer(1.0).minimize(tf.reduce_sum(rows))
        with session() as opened:
            seen = np.zeros(len(KEYS), bool)
            for occurrence in range(1, 8):
                before, _ = opened.run([rows, step])
                admitted = before[:, 0] != 0
                assert admitted[seen].all()  # who is admitted stays
                share = 1 - (1 - probability) ** occurrence
                spread = (len(KEYS) * share * (1 - share)) ** 0.5
                assert abs(admitted.sum() - len(KEYS) * share) <= 4 * spread + 1
                after = opened.run(read)[:, 0]
                np.testing.assert_allclose(after[admitted], before[admitted, 0] - 1, atol=1e-6)
                assert not after[~admitted].any() and opened.run(table.size()) == admitted.sum()
                seen = admitted
