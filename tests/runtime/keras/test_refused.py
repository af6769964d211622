"""Keras optimizers that cannot update a table say so before they change any variable."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime.keras

K = tf.keras
_KERAS_3 = hasattr(K, "Variable")


class OwnStep(K.optimizers.SGD):  # type: ignore[misc]
    """A user's optimizer."""

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any = None) -> None:
        variable.assign_sub(gradient)


class FromScratch(K.optimizers.Optimizer):  # type: ignore[misc]
    """Another, which inherits no update."""

    def __init__(self) -> None:
        super().__init__(**({"learning_rate": 0.1} if _KERAS_3 else {"name": "own"}))
        self._learning_rate = self._learning_rate if _KERAS_3 else self._build_learning_rate(0.1)

    def update_step(self, gradient: Any, variable: Any, learning_rate: Any = None) -> None:
        variable.assign_sub(gradient)

    def get_config(self) -> dict[str, Any]:
        return {}


class Renamed(K.optimizers.SGD):  # type: ignore[misc]
    """A user's optimizer that updates as the stock one does."""


def _step(optimizer: Any, table: Any, weight: tf.Variable) -> None:
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(runtime.sparse_lookup(table, tf.constant([1, 2])) * weight)
    variables = [weight, table.variable]
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))


def _refused(make: Callable[[], Any], message: str) -> None:
    table = runtime.create_table(tf.int64, 4, "user", tf.ones_initializer())
    weight = tf.Variable(tf.ones([4]))
    with pytest.raises(TypeError, match=message):
        _step(make(), table, weight)
    np.testing.assert_array_equal(weight, np.ones(4))
    assert (runtime.sparse_lookup(table, tf.constant([1]), is_train=False).numpy() == 1).all()


def _names() -> list[str]:
    classes = {name: getattr(K.optimizers, name) for name in dir(K.optimizers)}
    base, wraps = K.optimizers.Optimizer, ("LossScaleOptimizer", "MultiOptimizer")
    return [
        n
        for n, c in classes.items()
        if isinstance(c, type) and issubclass(c, base) and c is not base and n not in wraps
    ]


@pytest.mark.parametrize("name", sorted(set(_names()) - set(runtime.keras.adapters.NATIVE)))
def test_stock_optimizers_without_a_form_for_tables(name: str) -> None:
    _refused(
        getattr(K.optimizers, name), f"Keras {name} cannot update the table `user` sparsely: use keras.optimizers.SGD"
    )


@pytest.mark.parametrize("make", [OwnStep, FromScratch])
def test_optimizers_with_an_update_of_their_own(make: Any) -> None:
    _refused(make, f"Keras {make.__name__} overrides update_step, so it cannot update the table `user`: use keras")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: K.optimizers.Adam(amsgrad=True), "Adam with amsgrad .*: leave amsgrad out"),
        (lambda: K.optimizers.AdamW(amsgrad=True), "AdamW with amsgrad .*: leave amsgrad out"),
        (lambda: K.optimizers.SGD(weight_decay=0.1), "only Adam and AdamW support: use one of them"),
        (lambda: K.optimizers.Adagrad(weight_decay=0.1), "leave weight_decay out, or exempt the table"),
        (lambda: K.optimizers.SGD(use_ema=True), "use_ema cannot update the table .*: leave use_ema out"),
    ],
)
def test_settings_that_a_table_cannot_honour(make: Any, message: str) -> None:
    _refused(make, message)


@pytest.mark.skipif(not _KERAS_3, reason="Keras 2 has no gradient accumulation")
def test_gradients_do_not_wait_on_several_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.ranks.size", lambda: 2)
    _refused(lambda: K.optimizers.SGD(gradient_accumulation_steps=2), "on several ranks: .* larger batches")


def _each_by_another() -> Any:
    optimizers = {True: K.optimizers.SGD(0.5), False: K.optimizers.Adam()}
    return K.optimizers.MultiOptimizer(lambda variable: optimizers[variable.shape[0] == 0])


@pytest.mark.parametrize("make", [lambda: Renamed(0.5), *([_each_by_another] if _KERAS_3 else [])])
def test_what_ends_in_a_stock_update_is_taken(make: Any) -> None:
    table = runtime.create_table(tf.int64, 4, "user", tf.ones_initializer())
    weight = tf.Variable(tf.ones([4]))
    _step(make(), table, weight)
    assert (runtime.sparse_lookup(table, tf.constant([1]), is_train=False).numpy() == 0.5).all()
    assert (weight.numpy() < 1).all()


@pytest.mark.soak
def test_tables_train_where_tensorflow_finds_no_keras() -> None:
    program = """
import tensorflow as tf
import runtime
from runtime.optimizers import adagrad
table = runtime.create_table(tf.int64, 2, "t", tf.compat.v1.ones_initializer())
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(runtime.sparse_lookup(table, tf.constant([1], tf.int64)))
optimizer = adagrad.create_hash_optimizer(0.1)
optimizer.apply_gradients([(tape.gradient(loss, table.variable), table.variable)])
assert (runtime.sparse_lookup(table, tf.constant([1], tf.int64)).numpy() < 1).all()
"""
    # Without the package tf_keras, `tf.keras` cannot be imported then.
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": "1"}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
