"""Rows of two bytes: each update is stock TensorFlow's in float32, then one rounding, which numpy repeats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad, adam, ftrl, gradient_descent, momentum
from tests.support.runtime import rounding
from tests.support.runtime.tables import make_table, rows_of, session

v1: Any = tf.compat.v1
_ROWS, _DIM = 20, 5
_FTRL = {"l1_regularization_strength": 0.02, "l2_regularization_strength": 0.05}
_RULES: dict[str, tuple[Any, Any]] = {
    "sgd": (lambda: gradient_descent.create_hash_optimizer(0.05), lambda: v1.train.GradientDescentOptimizer(0.05)),
    "momentum": (lambda: momentum.create_hash_optimizer(0.02, 0.9), lambda: v1.train.MomentumOptimizer(0.02, 0.9)),
    "adagrad": (lambda: adagrad.create_hash_optimizer(0.1, 0.1), lambda: v1.train.AdagradOptimizer(0.1)),
    "adam": (lambda: adam.create_hash_optimizer(0.01), lambda: v1.train.AdamOptimizer(0.01)),
    "ftrl": (lambda: ftrl.create_hash_optimizer(0.1, **_FTRL), lambda: v1.train.FtrlOptimizer(0.1, **_FTRL)),
}
_HALVES = [tf.bfloat16, tf.float16]


def _minimized(optimizer: Any, rows: tf.Tensor, factors: tf.Tensor, var: Any = None) -> tf.Operation:
    return optimizer.minimize(tf.reduce_sum(rows * factors), var_list=None if var is None else [var])


def _compare(rule: str, dtype: tf.DType, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Train a table, and a variable whose updated rows are rounded after each step; return the rows of both."""
    random = np.random.default_rng(3)
    ours, stock = (make() for make in _RULES[rule])
    table = make_table(dim=_DIM, value_dtype=dtype)
    ids = v1.placeholder(tf.int64, [None])
    factors = v1.placeholder(tf.float32, [None, _DIM])
    with session() as opened:
        initial = rows_of(opened, table, range(_ROWS))
    weights = v1.get_variable("weights", initializer=initial)
    value = v1.placeholder(tf.float32, [_ROWS, _DIM])
    stored = weights.assign(value)
    moved = _minimized(ours, runtime.sparse_lookup(table, ids), factors)
    reference = _minimized(stock, tf.nn.embedding_lookup(weights, ids), factors, weights)
    meta = table.snapshot()[3]
    with session() as opened:
        seed = int(opened.run(meta)[1])
        for update in range(steps):
            batch = np.minimum(random.zipf(1.4, 6), _ROWS) - 1
            fed = {ids: batch, factors: random.normal(size=(6, _DIM)) + 0.2}
            opened.run([moved, reference], fed)
            keys = np.unique(batch)
            rows = opened.run(weights)
            rows[keys] = rounding.stochastic(rows[keys], dtype, seed, update, keys)
            opened.run(stored, {value: rows})
        return rows_of(opened, table, range(_ROWS)), opened.run(weights)


def _check(rule: str, dtype: tf.DType, steps: int) -> None:
    ours, wanted = _compare(rule, dtype, steps)
    # Where float32 differs in its last bit, one rounding in some 10^4 goes to the other neighbour.
    step = float(np.finfo(np.float16).eps) if dtype == tf.float16 else 2.0**-7
    tolerance = 4 * step * np.maximum(np.abs(wanted), 0.01)
    assert (np.abs(ours - wanted) <= tolerance).all()
    assert np.mean(np.abs(ours - wanted) <= 1e-5 * np.abs(wanted)) >= 0.9


@pytest.mark.usefixtures("graph")
@pytest.mark.each_case
@pytest.mark.parametrize("rule", _RULES)
@pytest.mark.parametrize("dtype", _HALVES, ids=lambda one: one.name)
def test_updates_are_those_of_stock_rounded_once(rule: str, dtype: tf.DType) -> None:
    _check(rule, dtype, 40)


def _trained(table: Any) -> tf.Operation:
    rows = runtime.sparse_lookup(table, tf.range(30, dtype=tf.int64))
    return adagrad.create_hash_optimizer(0.1).minimize(tf.reduce_sum(tf.sin(rows)))


@pytest.mark.parametrize("names", [("bfloat16", "bfloat16"), ("float32", "float16"), ("bfloat16", "float32")])
def test_checkpoints_are_float32_and_any_type_restores_them(tmp_path: Path, names: tuple[str, str]) -> None:
    found = []
    for name in names:
        with tf.Graph().as_default():
            table = make_table(value_dtype=name)
            step, saver = _trained(table), v1.train.Saver()
            with session() as opened:
                if not found:
                    opened.run(step)
                    opened.run(step)
                    saver.save(opened, str(tmp_path / "model"))
                else:
                    saver.restore(opened, str(tmp_path / "model"))
                found.append(rows_of(opened, table, range(30)))
                opened.run(step)
                found.append(rows_of(opened, table, range(30)))
    before, through, restored, on = found
    second = tf.as_dtype(names[1])
    assert np.array_equal(restored, before if second == tf.float32 else rounding.nearest(before, second))
    assert np.array_equal(through, on) == (names[0] == names[1])
    reader = tf.train.load_checkpoint(str(tmp_path / "model"))
    assert [reader.get_variable_to_dtype_map()[one] for one in sorted(reader.get_variable_to_shape_map())] != []
    assert not any(dtype in (tf.bfloat16, tf.float16) for dtype in reader.get_variable_to_dtype_map().values())


def test_a_keras_layer_stores_rows_in_two_bytes() -> None:
    from runtime.keras import Embedding

    layer = Embedding(50, 4, value_dtype="float16", name="halves")
    rows = layer(np.arange(6)).numpy()
    assert np.array_equal(rows, rounding.nearest(rows, tf.float16)) and rows.dtype == np.float32
    assert layer.get_config()["value_dtype"] == "float16"
    with pytest.raises(ValueError, match="must be tf"):
        Embedding(50, 4, value_dtype="float64")


@pytest.mark.usefixtures("graph")
def test_a_counted_table_stores_rows_in_two_bytes() -> None:
    rules = runtime.KeyRules(value_dtype=tf.bfloat16)
    table = runtime.create_counted_table("counted", 4, initializer=v1.random_normal_initializer(seed=3), rules=rules)
    rows = runtime.sparse_lookup(table, tf.range(8, dtype=tf.int64))
    step = v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(rows * rows))
    with session() as opened:
        opened.run(step)
        found = opened.run(rows)
    assert np.array_equal(found, rounding.nearest(found, tf.bfloat16))
    with pytest.raises(ValueError, match="rows on a device are float32"):
        runtime.KeyRules(value_dtype=tf.bfloat16, device=runtime.Device("/cpu:0"))
