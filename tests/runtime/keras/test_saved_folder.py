"""A folder that `model.save` of Keras 2 wrote: `keras.models.load_model` gives its rows, and a model that trains on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime.keras

K = tf.keras
pytestmark = pytest.mark.skipif(hasattr(K, "Variable"), reason="Keras 3 loads no SavedModel as a model")

_ROWS = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
_IDS = np.arange(64).reshape(-1, 1) * 7 % 40
_LABELS = (_IDS % 3 == 0).astype(np.float32)


def _stock() -> Any:
    return K.layers.Embedding(40, 4, embeddings_initializer=K.initializers.Constant(_ROWS), name="users")


def _ours() -> Any:
    return runtime.keras.Embedding(40, 4, weights=[_ROWS], name="users")


def _rest() -> list[Any]:
    return [K.layers.Flatten(), K.layers.Dense(1, kernel_initializer="ones", activation="sigmoid")]


def _sequential(embedding: Any) -> Any:
    return K.Sequential([K.Input([1], dtype="int64"), embedding, *_rest()])


def _shared(embedding: Any) -> Any:
    left, right = K.Input([1], dtype="int64"), K.Input([1], dtype="int64")
    flat, dense = _rest()
    return K.Model([left, right], dense(flat(embedding(left) * embedding(right))))


def _fit(model: Any) -> Any:
    given = [_IDS, _IDS[::-1]] if len(model.inputs) == 2 else _IDS
    model.fit(given, _LABELS, batch_size=8, epochs=2, shuffle=False, verbose=0)
    return model.predict(given, verbose=0)


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("form", [_sequential, _shared])
@pytest.mark.one_case
def test_it_trains_on_as_the_stock_model_does(form: Any, optimizer: str, tmp_path: Path) -> None:
    """Keras 2 itself lets optimizers begin anew there."""
    wanted, found = [], []
    for name, embedding, numbers in (("stock", _stock, wanted), ("ours", _ours, found)):
        model = form(embedding())
        model.compile(optimizer, "binary_crossentropy")
        numbers.append(_fit(model))
        model.save(str(tmp_path / name))
        numbers.append(_fit(K.models.load_model(str(tmp_path / name))))
        numbers.append(_fit(model))  # the loaded model has rows of its own
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)


def test_rows_of_later_ids_are_loaded(tmp_path: Path) -> None:
    model = _sequential(_ours())
    model.compile("sgd", "mse")
    model.fit(_IDS + 1000, _LABELS, verbose=0)
    model.save(str(tmp_path / "model"))
    loaded = K.models.load_model(str(tmp_path / "model"))
    assert int(loaded.get_layer("users").table.size()) == int(model.get_layer("users").table.size())
    np.testing.assert_array_equal(*(one.predict(_IDS + 1000, verbose=0) for one in (loaded, model)))
