"""A Keras model that gets another optimizer, or another model's: the same numbers as with keras.layers.Embedding."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

import runtime.keras

K = tf.keras
O = K.optimizers  # noqa: E741 - as in scripts
_RANDOM = np.random.default_rng(1)
_ROWS = _RANDOM.normal(size=(60, 4)).astype(np.float32)
_HEAD = _RANDOM.normal(size=(4, 1)).astype(np.float32)
# Batches of 2 samples without a repeated id; most rows are left untouched by most steps, and the last ten by all.
_IDS = np.concatenate([_RANDOM.permutation(50)[:10].reshape(2, 5) for _ in range(6)])
_LABELS = _RANDOM.random((12, 1)).astype(np.float32)

Layers = Callable[[int], Any]


def _ours(number: int) -> Any:
    return runtime.keras.Embedding(60, 4, weights=[_ROWS + number], name=f"rows_{number}")


def _stock(number: int) -> Any:
    constant = K.initializers.Constant(_ROWS + number)
    return K.layers.Embedding(60, 4, embeddings_initializer=constant, name=f"rows_{number}")


def _model(layers: Layers, tables: int = 1) -> Any:
    ids = K.Input((5,), dtype="int64")
    rows = [K.layers.GlobalAveragePooling1D()(layers(number)(ids)) for number in range(tables)]
    dense = K.layers.Dense(1, kernel_initializer=K.initializers.Constant(_HEAD), name="head")
    return K.Model(ids, dense(rows[0] if tables == 1 else K.layers.Add()(rows)))


def _fit(model: Any, optimizer: Any = None, **settings: Any) -> None:
    if optimizer is not None:
        model.compile(optimizer, "mse", **settings)
    model.fit(_IDS, _LABELS, batch_size=2, shuffle=False, verbose=0)


def _state(model: Any) -> list[NDArray[Any]]:
    rows = [layer(np.arange(60)).numpy() for layer in model.layers if layer.name.startswith("rows")]
    return [*rows, np.asarray(model.get_layer("head").kernel)]


def _assert_same(scenario: Callable[[Layers], Any], atol: float = 1e-6) -> None:
    """Compare all rows and the dense weights after `scenario`, which must have changed them."""
    for ours, stock, before in zip(_state(scenario(_ours)), _state(scenario(_stock)), (_ROWS, _HEAD), strict=False):
        np.testing.assert_allclose(ours, stock, rtol=1e-5, atol=atol)
        assert before.shape != stock.shape or np.abs(stock - before).max() > 1e-3


_MAKERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: O.SGD(0.3),
    "momentum": lambda: O.SGD(0.1, momentum=0.9),
    "adagrad": lambda: O.Adagrad(0.1),
    "adam": lambda: O.Adam(0.01),
    "adamw": lambda: O.AdamW(0.01, weight_decay=0.1),
}


@pytest.mark.parametrize("second", _MAKERS)
@pytest.mark.parametrize("first", _MAKERS)
@pytest.mark.one_case
def test_a_new_optimizer_starts_its_slots_anew(first: str, second: str) -> None:
    def scenario(layers: Layers) -> Any:
        model = _model(layers)
        _fit(model, _MAKERS[first]())
        _fit(model, _MAKERS[second]())
        _fit(model)
        return model

    _assert_same(scenario)


def _load_keras(model: Any, layers: Layers, path: Path) -> Any:
    model.save(path / "model.keras")
    return K.models.load_model(path / "model.keras")


def _load_checkpoint(model: Any, layers: Layers, path: Path) -> Any:
    saved = tf.train.Checkpoint(model=model, optimizer=model.optimizer).save(str(path / "model"))
    fresh = _model(layers, tables=2)
    fresh.compile(O.Adam(0.01), "mse")
    tf.train.Checkpoint(model=fresh, optimizer=fresh.optimizer).restore(saved)
    return fresh


def _load_weights(model: Any, layers: Layers, path: Path) -> Any:
    model.save_weights(str(path / "x.weights.h5"))
    fresh = _model(layers, tables=2)
    fresh.compile(O.Adam(0.01), "mse")
    fresh.load_weights(str(path / "x.weights.h5"))
    return fresh


def _load_weights_for_another(model: Any, layers: Layers, path: Path) -> Any:
    model.save_weights(str(path / "x.weights.h5"))
    fresh = _model(layers, tables=2)
    fresh.load_weights(str(path / "x.weights.h5"))
    fresh.compile(O.SGD(0.1, momentum=0.9), "mse")
    return fresh


@pytest.mark.filterwarnings("ignore:Skipping variable loading for optimizer")
@pytest.mark.parametrize(
    "load",
    [
        _load_keras,
        _load_checkpoint,
        _load_weights,
        _load_weights_for_another,
    ],
)
def test_what_is_loaded_goes_on_as_the_stock_layer_does(load: Any, tmp_path: Path) -> None:
    def scenario(layers: Layers) -> Any:
        path = tmp_path / layers.__name__
        path.mkdir()
        model = _model(layers, tables=2)
        _fit(model, O.Adam(0.01))
        _fit(model, O.Adam(0.01))
        model = load(model, layers, path)
        _fit(model)
        return model

    _assert_same(scenario)


def test_unseen_rows_keep_what_an_earlier_weight_decay_left_of_them(tmp_path: Path) -> None:
    model = _model(_ours)
    fresh = model.get_layer("rows_0")(np.array([1000])).numpy()
    _fit(model, O.AdamW(0.1, weight_decay=0.5))
    _fit(model, O.SGD(0.1))
    loaded = _load_keras(model, _ours, tmp_path)
    for each in (model, loaded):
        np.testing.assert_allclose(each.get_layer("rows_0")(np.array([1000])), fresh * 0.95**6, rtol=1e-5)


def test_an_optimizer_whose_slots_are_gone_is_refused() -> None:
    model, first = _model(_ours), O.Adam(0.01)
    _fit(model, first)
    _fit(model, O.SGD(0.1))
    before = _state(model)[0]
    message = (
        "table 'rows_0' is trained by optimizers in turn, and has the slots of sgd but none of keras_adam any more"
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        _fit(model, first)
    np.testing.assert_array_equal(_state(model)[0], before)
    _fit(model, O.Adam(0.01))
