"""Equal ids in a batch: Keras 2 squares the sum of their gradients, Keras 3 each gradient, and so do tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime.keras

K = tf.keras
_BY = K.optimizers
_RANDOM = np.random.default_rng(5)
_ROWS = _RANDOM.normal(size=(9, 4)).astype(np.float32)
_HEAD = _RANDOM.normal(size=(8, 1)).astype(np.float32)
#: 60 batches of 8 samples; row 8 is rare.
_FIRST = np.minimum(_RANDOM.zipf(1.3, size=(480, 5)), 9) - 1
_SECOND = np.minimum(_RANDOM.zipf(1.5, size=(480, 3)), 9) - 1
_LABELS = _RANDOM.random((480, 1)).astype(np.float32)


def _ours(**settings: Any) -> Any:
    return runtime.keras.Embedding(9, 4, weights=[_ROWS], **settings)


def _stock(**settings: Any) -> Any:
    return K.layers.Embedding(9, 4, embeddings_initializer=K.initializers.Constant(_ROWS), **settings)


def _model(layer: Any) -> Any:
    """A layer that two inputs share."""
    first, second = K.Input((5,), dtype="int64"), K.Input((3,), dtype="int64")
    pooled = [K.layers.GlobalAveragePooling1D()(layer(ids)) for ids in (first, second)]
    head = K.layers.Dense(1, kernel_initializer=K.initializers.Constant(_HEAD), dtype="float32")
    return K.Model([first, second], head(K.layers.Concatenate()(pooled)))


def _trained(layer: Any, optimizer: Any, **settings: Any) -> tuple[list[float], np.ndarray[Any, Any]]:
    """Return the loss of each of two epochs, and all rows."""
    model = _model(layer)
    model.compile(optimizer=optimizer, loss="mse", **settings)
    history = model.fit([_FIRST, _SECOND], _LABELS, epochs=2, batch_size=8, shuffle=False, verbose=0)
    rows = K.Sequential([layer]).predict(np.arange(9)[:, None], verbose=0)[:, 0]
    return history.history["loss"], rows


_OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "adagrad": lambda: _BY.Adagrad(0.3),
    "adagrad, accumulator 0": lambda: _BY.Adagrad(0.3, initial_accumulator_value=0.0),
    "adam": lambda: _BY.Adam(0.01),
    "adamw": lambda: _BY.AdamW(0.01, weight_decay=0.01),
    "adamw, global_clipnorm": lambda: _BY.AdamW(0.01, weight_decay=0.01, global_clipnorm=0.05),
    "adagrad, clipvalue": lambda: _BY.Adagrad(0.3, clipvalue=0.003),
    "adagrad, clipnorm": lambda: _BY.Adagrad(0.3, clipnorm=0.05),
    "adam, clipnorm": lambda: _BY.Adam(0.01, clipnorm=0.05),
    "momentum": lambda: _BY.SGD(0.3, momentum=0.9, nesterov=True),
    "sgd": lambda: _BY.SGD(0.3),
    "schedule": lambda: _BY.Adam(_BY.schedules.ExponentialDecay(0.02, 20, 0.9)),
}


def _close(ours: Any, stock: Any) -> None:
    np.testing.assert_allclose(ours[0], stock[0], rtol=1e-5)
    np.testing.assert_allclose(ours[1], stock[1], rtol=2e-4, atol=2e-5)
    assert np.abs(stock[1] - _ROWS).max() > 0.02


@pytest.mark.parametrize("name", _OPTIMIZERS)
@pytest.mark.one_case
def test_they_train_as_in_the_stock_layer(name: str) -> None:
    make = _OPTIMIZERS[name]
    _close(_trained(_ours(), make()), _trained(_stock(), make()))


@pytest.mark.parametrize("settings", [{"steps_per_execution": 3}, {"run_eagerly": True}])
@pytest.mark.one_case
def test_in_every_way_to_run(settings: dict[str, Any]) -> None:
    _close(_trained(_ours(), _BY.Adam(0.01), **settings), _trained(_stock(), _BY.Adam(0.01)))
