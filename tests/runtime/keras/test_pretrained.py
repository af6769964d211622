"""Layers that begin with a matrix, and layers that are not trained, beside those of Keras."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime.keras

_MATRIX = np.random.RandomState(5).normal(size=(12, 4)).astype(np.float32)
_IDS = np.array([[1, 2, 2], [7, 0, 1], [3, 3, 11], [1, 5, 7]])
_LABELS = np.array([[0.0], [1.0], [1.0], [0.0]], np.float32)


def _constant() -> Any:
    return tf.keras.initializers.Constant(_MATRIX)


#: How a layer is made, and what is done with it once the model is compiled.
_WAYS: dict[str, tuple[Callable[[], dict[str, Any]], Callable[[Any], Any]]] = {
    "an initializer": (lambda: {"embeddings_initializer": _constant()}, lambda layer: None),
    "an initializer of TensorFlow": (
        lambda: {"embeddings_initializer": tf.constant_initializer(_MATRIX), "mask_zero": True},
        lambda layer: None,
    ),
    "not trained": (lambda: {"embeddings_initializer": _constant(), "trainable": False}, lambda layer: None),
    "weights, not trained": (lambda: {"weights": [_MATRIX], "trainable": False}, lambda layer: None),
    "not trained, and L2": (
        lambda: {
            "embeddings_initializer": _constant(),
            "embeddings_regularizer": tf.keras.regularizers.L2(0.1),
            "trainable": False,
        },
        lambda layer: None,
    ),
    "weights that are set": (lambda: {}, lambda layer: layer.set_weights([_MATRIX])),
}


def _trained(kind: Any, options: dict[str, Any], change: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Return losses, predictions and the rows of a model that is trained for three steps, frozen if it is wanted."""
    tf.keras.utils.set_random_seed(3)
    layer = kind(12, 4, **options)
    head = tf.keras.layers.Dense(1, kernel_initializer="ones")
    inputs = tf.keras.Input((3,), dtype=tf.int64)
    model = tf.keras.Model(inputs, head(tf.keras.layers.Flatten()(layer(inputs))))
    model.compile(tf.keras.optimizers.Adam(0.05), "mse")
    change(layer)
    losses = [float(np.ravel(model.train_on_batch(_IDS, _LABELS))[0]) for _ in range(3)]
    return losses, model.predict(_IDS, verbose=0), np.asarray(layer.embeddings)


@pytest.mark.parametrize("way", _WAYS)
@pytest.mark.one_case
def test_it_trains_as_the_layer_of_keras(way: str) -> None:
    options, change = _WAYS[way]
    if "weights" in options() and hasattr(tf.keras, "Variable"):
        pytest.skip("Keras 3 has no `weights`")
    want = _trained(tf.keras.layers.Embedding, options(), change)
    found = _trained(runtime.keras.Embedding, options(), change)
    for one, stock in zip(found, want, strict=True):
        np.testing.assert_allclose(one, stock, rtol=2e-5, atol=1e-6)
    assert np.array_equal(found[2], _MATRIX) == ("not trained" in way)
