"""Pooled and grouped lookups of tables with rows on a device, beside tables of the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad
from tests.support.runtime.tables import make_table, session

v1 = tf.compat.v1


def _tables(device: str | None) -> list[runtime.Table]:
    names = ("user", "item")
    return [
        make_table(name, initializer=v1.ones_initializer(), device_vocabulary_size=40, device=device) for name in names
    ]


def _losses(device: str | None, combiner: str, settings: dict[str, Any]) -> list[np.ndarray]:
    """Train for some steps; return the pooled rows of each, and the sorted rows at the end."""
    with tf.Graph().as_default():
        tables = _tables(device)
        ids = v1.sparse_placeholder(tf.int64, [None, None])
        weights = v1.placeholder(tf.float32, [None])
        given = {**settings}
        if given.pop("weighted", False):
            given["sp_weights"] = tf.SparseTensor(ids.indices, weights, ids.dense_shape)
        if given.pop("grouped", False):
            pooled = runtime.grouped_embedding_lookup_sparse([(one, ids) for one in tables], combiner=combiner)
        else:
            pooled = [runtime.embedding_lookup_sparse(tables[0], ids, combiner=combiner, **given)]
        train = adagrad.create_hash_optimizer(0.1).minimize(tf.reduce_sum(tf.square(tf.add_n(pooled) - 0.25)))
        ends = [table.snapshot()[:2] for table in tables]
        random, found = np.random.default_rng(2), []
        with session() as opened:
            for _ in range(15):
                counts = np.append(random.integers(0, 5, 7), 2)
                places = [(row, column) for row, count in enumerate(counts) for column in range(count)]
                feeds = {
                    ids: (places, random.zipf(1.3, len(places)) % 100, (8, 5)),
                    weights: random.uniform(0.1, 2, len(places)),
                }
                found += opened.run([*pooled, train], feeds)[:-1]
            found += [values[np.argsort(keys)] for keys, values in opened.run(ends)]
    return found


@pytest.mark.parametrize("settings", [{}, {"weighted": True}, {"grouped": True}], ids=["plain", "weighted", "grouped"])
def test_sums_have_the_bits_of_the_host(settings: dict[str, Any]) -> None:
    for one, other in zip(_losses("/cpu:0", "sum", settings), _losses(None, "sum", settings), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("combiner", ["mean", "sqrtn"])
@pytest.mark.parametrize("settings", [{}, {"max_norm": 1.5}, {"grouped": True}], ids=["plain", "max_norm", "grouped"])
def test_other_combinations_agree_to_rounding(combiner: str, settings: dict[str, Any]) -> None:
    for one, other in zip(_losses("/cpu:0", combiner, settings), _losses(None, combiner, settings), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)
