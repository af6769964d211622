"""Optimizers that a table cannot take are refused; legacy ones of Keras 2 train it as the stock layer."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
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


L: Any = getattr(K.optimizers, "legacy", None)
_RANDOM = np.random.default_rng(3)
#: Most rows are left untouched by most steps, and ids are equal within a batch.
_IDS, _LABELS = _RANDOM.integers(0, 30, (24, 3)), _RANDOM.normal(size=(24, 1))
_ROWS = _RANDOM.normal(size=(40, 4)).astype(np.float32)


def _model(kind: Any) -> Any:
    first, last = K.initializers.Constant(0.2), K.initializers.Constant(0.3)
    layers = [kind(40, 4, embeddings_initializer=first), K.layers.Flatten(), K.layers.Dense(1, kernel_initializer=last)]
    model = K.Sequential([K.Input((3,), dtype="int64"), *layers])
    model.layers[0].set_weights([_ROWS])
    return model


def _fit(model: Any, optimizer: Any, **settings: Any) -> Any:
    model.compile(optimizer, "mse", **settings)
    halving = K.callbacks.LearningRateScheduler(lambda _, rate: rate * 0.5)
    callbacks = [halving] if isinstance(getattr(optimizer, "learning_rate", None), tf.Variable) else []
    model.fit(_IDS, _LABELS, batch_size=6, epochs=2, shuffle=False, verbose=0, callbacks=callbacks)
    return model.predict(np.arange(39).reshape(13, 3), verbose=0)


_DECAYING: Any = K.optimizers.schedules.ExponentialDecay(0.1, 3, 0.5)
OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: L.SGD(0.1, clipnorm=0.1),
    "momentum, the rows of the batch alone": lambda: L.SGD(0.1, momentum=0.9),
    "momentum of a rate that falls": lambda: L.SGD(_DECAYING, momentum=0.9, nesterov=True),
    "adagrad, epsilon outside of the root": lambda: L.Adagrad(0.1, epsilon=0.3),
    "adam": lambda: L.Adam(0.05, beta_1=0.8, decay=0.1),
    "adam of a clipped gradient": lambda: L.Adam(_DECAYING, global_clipnorm=0.01),
    "a scaled loss": lambda: K.mixed_precision.LossScaleOptimizer(L.Adam(0.05)),
    "a user's own rate": lambda: type("Own", (L.SGD,), {"_decayed_lr": lambda self, kind: tf.constant(0.3, kind)})(),
}


@pytest.mark.skipif(hasattr(K, "Variable"), reason="Keras 3 has no legacy optimizers")
@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("eagerly", [False, True])
@pytest.mark.one_case
def test_it_trains_to_the_numbers_of_the_stock_layer(optimizer: Callable[[], Any], eagerly: bool) -> None:
    want = _fit(_model(K.layers.Embedding), optimizer(), run_eagerly=eagerly)
    got = _fit(_model(runtime.keras.Embedding), optimizer(), run_eagerly=eagerly)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


class LegacyStep(L.SGD if L else object):  # type: ignore[misc]
    """A user's optimizer."""

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: Any = None) -> Any:
        return self._resource_scatter_add(var, indices, -grad)


@pytest.mark.skipif(hasattr(K, "Variable"), reason="Keras 3 has no legacy optimizers")
@pytest.mark.parametrize(
    ("optimizer", "message"),
    [
        (lambda: L.RMSprop(0.1), "legacy RMSprop cannot update the table"),
        (lambda: L.Adam(0.1, amsgrad=True), "leave amsgrad out"),
        (lambda: LegacyStep(0.1), "legacy LegacyStep cannot update the table"),
    ],
)
def test_another_is_refused_before_it_changes_anything(optimizer: Callable[[], Any], message: str) -> None:
    model = _model(runtime.keras.Embedding)
    with pytest.raises(TypeError, match=message):
        _fit(model, optimizer(), run_eagerly=True)
    np.testing.assert_array_equal(model.layers[0].embeddings.numpy(), _ROWS)
    assert (model.layers[-1].kernel.numpy() == np.float32(0.3)).all()


@pytest.mark.skipif(hasattr(K, "Variable"), reason="Keras 3 has no legacy optimizers")
def test_training_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    predicted = []
    for kind in (K.layers.Embedding, runtime.keras.Embedding):
        first, second = (_model(kind) for _ in range(2))
        optimizers = [L.Adam(0.05), L.Adam(0.05)]
        _fit(first, optimizers[0])
        path = tf.train.Checkpoint(model=first, optimizer=optimizers[0]).save(str(tmp_path / kind.__name__))
        tf.train.Checkpoint(model=second, optimizer=optimizers[1]).restore(path)
        predicted.append(_fit(second, optimizers[1]))
    np.testing.assert_allclose(predicted[1], predicted[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("way", ["fit", "apply_gradients"])
def test_a_loss_without_a_gradient_is_an_error_as_of_the_stock_layer(way: str) -> None:
    for kind in (K.layers.Embedding, runtime.keras.Embedding):
        layer = kind(9, 2)
        layer.build(None)
        optimizer = K.optimizers.Adagrad(0.1)
        with pytest.raises(ValueError, match="No gradients provided for any variable"):
            if way == "apply_gradients":
                optimizer.apply_gradients([(None, one) for one in layer.trainable_variables])
            else:
                cut = K.Sequential([layer, K.layers.Lambda(tf.stop_gradient)])
                cut.compile(optimizer, "mse")
                cut.fit(tf.constant([1, 2]), tf.ones([2, 2]), verbose=0)
