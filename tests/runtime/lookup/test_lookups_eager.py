"""Pooled, grouped and merged lookups in eager mode and tf.function, beside stock TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad
from tests.support.runtime.tables import make_table

ROWS = np.random.default_rng(0).normal(size=(10, 4)).astype(np.float32)
IDS = tf.ragged.constant([[1, 2, 1], [], [9], [3, 3, 3, 3, 0, 5, 6, 7, 8, 1, 2], []], dtype=tf.int64)
WEIGHTS = IDS.with_values(tf.linspace(0.5, 2.0, 15))


def filled(name: str = "user", **settings: Any) -> runtime.Table:
    table = make_table(name, **settings)
    table.import_rows(np.arange(10), ROWS)
    return table


def values(table: runtime.Table) -> np.ndarray:
    return np.asarray(runtime.sparse_lookup(table, np.arange(10), is_train=False))


def eager(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


modes = pytest.mark.parametrize("mode", [eager, tf.function], ids=["eager", "function"])
kinds = pytest.mark.parametrize("kind", ["ragged", "sparse"])


def of_kind(ragged: tf.RaggedTensor, kind: str) -> Any:
    return ragged if kind == "ragged" else ragged.to_sparse()


@modes
@kinds
@pytest.mark.parametrize("safe", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.one_case
def test_pooled_rows_and_gradients_are_stocks(mode: Any, kind: str, safe: bool, weighted: bool) -> None:
    name = "safe_embedding_lookup_sparse" if safe else "embedding_lookup_sparse"
    table, variable = filled(), tf.Variable(ROWS)
    pairs = ((getattr(runtime, name), table, table.variable), (getattr(tf.nn, name), variable, variable))
    results = []
    for look_up, source, trained in pairs:

        @mode
        def step(weights: tf.Tensor, look_up: Any = look_up, source: Any = source, trained: Any = trained) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(weights)
                wanted = of_kind(IDS.with_values(weights), kind) if weighted else None
                pooled = look_up(source, of_kind(IDS, kind), wanted, combiner="sqrtn")
                loss = tf.reduce_sum(tf.sin(pooled))
            slices, of_weights = tape.gradient(loss, [trained, weights])
            dense = tf.scatter_nd(slices.indices[:, None], slices.values, [10, 4])
            return pooled, dense, tf.zeros([0]) if of_weights is None else of_weights

        results.append(step(WEIGHTS.values))
    for ours, stock in zip(*results, strict=True):
        assert ours.shape == stock.shape
        np.testing.assert_allclose(ours, stock, rtol=1e-5, atol=1e-6)


@modes
def test_serving_default_and_padding_keys(mode: Any) -> None:
    table = filled("padded", padding_keys=[2])
    optimizer = adagrad.create_hash_optimizer(0.1, 0.1)

    @mode
    def step() -> None:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(runtime.sparse_lookup(table, tf.range(4)))
        optimizer.apply_gradients([(tape.gradient(loss, table.variable), table.variable)])

    @mode
    def serve() -> Any:
        return runtime.sparse_lookup(table, tf.constant([[2, 77]]), is_train=False, serving_default_value=[1.0] * 4)

    step()
    np.testing.assert_array_equal((values(table) != ROWS).all(1), [True, True, False, True] + [False] * 6)
    np.testing.assert_array_equal(serve(), [[ROWS[2], np.ones(4)]])
    assert int(table.size()) == 10


def test_an_update_of_many_tables_that_fails_changes_none_of_them() -> None:
    tables = [make_table(f"whole{n}", dim=2) for n in range(3)]
    tables.append(runtime.create_table(tf.int64, 2, "whole3", tf.ones_initializer(), max_bytes=20000))
    optimizer = adagrad.create_hash_optimizer(0.5)
    before = [np.asarray(runtime.sparse_lookup(table, [1, 2])) for table in tables]

    def slices(value: float, keys: list[int]) -> tf.IndexedSlices:
        return tf.IndexedSlices(tf.fill([len(keys), 2], value), tf.constant(keys, tf.int64))

    pairs = [(slices(1.0, [1, 2]), table.variable) for table in tables]
    spoilt = [*pairs[:2], (slices(float("nan"), [1, 2]), tables[2].variable)]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"whole2.*has a NaN.*no row was changed"):
        optimizer.apply_gradients(spoilt)
    too_many = [*pairs[:3], (slices(1.0, list(range(5000))), tables[3].variable)]
    with pytest.raises(tf.errors.ResourceExhaustedError, match=r"whole3.*max_bytes of 20000"):
        optimizer.apply_gradients(too_many)
    for table, rows in zip(tables, before, strict=True):
        np.testing.assert_array_equal(runtime.sparse_lookup(table, [1, 2]), rows)
    optimizer.apply_gradients(pairs)
    for table, rows in zip(tables, before, strict=True):
        assert np.all(np.asarray(runtime.sparse_lookup(table, [1, 2])) < rows)
