"""`rows_regularizer` and `embeddings_regularizer` beside the regularizer of the stock layer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime.keras

K = tf.keras
_RANDOM = np.random.default_rng(0)
_ROWS = _RANDOM.normal(size=(20, 4)).astype(np.float32)
#: Every id in every batch of 8 samples, some of them more than once.
_IDS = np.concatenate([_RANDOM.permutation(np.r_[0:20, 0:20:1]).reshape(8, 5) for _ in range(3)])
_LABELS = _RANDOM.random((24, 1)).astype(np.float32)


def _fit(layer: Any, ids: Any = _IDS) -> tuple[Any, list[float]]:
    head = K.layers.Dense(1, kernel_initializer="ones")
    model = K.Sequential([layer, K.layers.GlobalAveragePooling1D(), head])
    model.compile(optimizer=K.optimizers.SGD(0.1), loss="mse")
    losses = model.fit(ids, _LABELS[: len(ids)], epochs=3, batch_size=8, shuffle=False, verbose=0).history["loss"]
    return model.predict(_IDS, verbose=0), losses


def test_rows_outside_of_the_batch_stay() -> None:
    layer = runtime.keras.Embedding(20, 4, weights=[_ROWS], rows_regularizer="l2")
    _fit(layer, _IDS[:8] % 10)
    rows = layer(np.arange(20)).numpy()
    np.testing.assert_array_equal(rows[10:], _ROWS[10:])
    assert (np.abs(rows[:10] - _ROWS[:10]).max(axis=1) > 0).all()


def test_evaluation_has_no_penalty() -> None:
    layer = runtime.keras.Embedding(20, 4, weights=[_ROWS], rows_regularizer="l2")
    layer(_IDS)
    assert not layer.losses
    layer(_IDS, training=True)
    np.testing.assert_allclose(float(layer.losses[0]), 0.01 * np.square(_ROWS).sum(), rtol=1e-5)


@pytest.mark.parametrize("optimizer", ["SGD", "Momentum", "Adagrad", "Adam"])
@pytest.mark.parametrize("regularizer", [K.regularizers.L2(0.05), K.regularizers.L1L2(0.001, 0.02)])
@pytest.mark.one_case
def test_the_regularizer_of_all_rows_is_the_stock_layers(optimizer: str, regularizer: Any) -> None:
    """Half of the rows never come, so a step without the term would not move them."""
    make = {"Momentum": lambda: K.optimizers.SGD(0.05, momentum=0.9)}
    ids, results = _IDS % 10, []
    for layer in (
        K.layers.Embedding(
            20, 4, embeddings_initializer=K.initializers.Constant(_ROWS), embeddings_regularizer=regularizer
        ),
        runtime.keras.Embedding(20, 4, weights=[_ROWS], embeddings_regularizer=regularizer),
    ):
        chosen = make.get(optimizer, lambda: getattr(K.optimizers, optimizer)(0.05))()
        model = K.Sequential([layer, K.layers.GlobalAveragePooling1D(), K.layers.Dense(1, kernel_initializer="ones")])
        model.compile(optimizer=chosen, loss="mse")
        losses = model.fit(ids, _LABELS, epochs=3, batch_size=8, shuffle=False, verbose=0).history["loss"]
        losses.append(model.evaluate(ids, _LABELS, verbose=0))
        results.append((losses, model.predict(np.arange(20).reshape(4, 5), verbose=0)))
    (want, rows), (got, ours) = results
    np.testing.assert_allclose(got, want, rtol=1e-5)
    np.testing.assert_allclose(ours, rows, rtol=1e-4, atol=1e-6)


def test_the_regularizer_of_all_rows_is_in_the_configuration() -> None:
    layer = runtime.keras.Embedding(20, 4, embeddings_regularizer="l2")
    assert float(type(layer).from_config(layer.get_config()).embeddings_regularizer.l2) == pytest.approx(0.01)
