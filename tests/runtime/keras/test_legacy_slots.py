"""Checkpoints of stock layers that `keras.optimizers.legacy` trained: the slots get into the rows of the tables."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime.keras

K = tf.keras
pytestmark = pytest.mark.skipif(hasattr(K, "Variable"), reason="Keras 3 has no legacy optimizers")
_LEGACY: Any = getattr(K.optimizers, "legacy", None)
_MADE: dict[str, Callable[[], Any]] = {
    "adagrad": lambda: _LEGACY.Adagrad(0.1),
    "adam": lambda: _LEGACY.Adam(0.1),
    "momentum": lambda: _LEGACY.SGD(0.1, momentum=0.9),
    "nesterov": lambda: _LEGACY.SGD(0.1, momentum=0.9, nesterov=True, decay=0.1),
    "sgd": lambda: _LEGACY.SGD(0.1),
}
_IDS = np.arange(80).reshape(-1, 2) * 7 % 20
_LABELS = np.sin(_IDS[:, :1]).astype(np.float32)


class Model(K.Model):  # type: ignore[misc]
    """A layer and two variables, [rows, dim] and [rows]."""

    def __init__(self, layer: Any, variable: Any, **settings: Any) -> None:
        super().__init__()
        draw = tf.random_normal_initializer(seed=1)
        self.users, self.dense = layer(20, 4, name="users", **settings), K.layers.Dense(1)
        self.factors = variable(draw, [20, 3], name="factors")
        self.bias = variable(draw, [20], name="bias")

    def call(self, ids: Any) -> Any:
        rows = tf.concat([self.users(ids), tf.gather(self.factors, ids)], 2)
        return self.dense(tf.reduce_sum(rows, 1)) + tf.gather(self.bias, ids[:, :1])


def _variable(initializer: Any, shape: list[int], name: str) -> tf.Variable:
    return tf.Variable(initializer(shape), name=name)


def _stock(optimizer: Any) -> Any:
    model = Model(K.layers.Embedding, _variable)
    model.compile(optimizer, "mse")
    return model


def _tables(optimizer: Any, **settings: Any) -> Any:
    model = Model(runtime.keras.Embedding, runtime.keras.table_variable, **settings)
    model.compile(optimizer, "mse")
    return model


def _trained(model: Any) -> Any:
    """Train five steps, in which the ids differ."""
    model.fit(_IDS, _LABELS, batch_size=8, shuffle=False, verbose=0)
    return model


def _weights(model: Any, path: Path) -> Callable[[Any], Any]:
    model.save_weights(str(path / "weights"))
    return lambda other: other.load_weights(str(path / "weights"))


def _checkpoint(model: Any, path: Path) -> Callable[[Any], Any]:
    saved = tf.train.Checkpoint(model=model, optimizer=model.optimizer).save(str(path / "model"))
    return lambda other: tf.train.Checkpoint(model=other, optimizer=other.optimizer).restore(saved)


def _assert_trains_alike(ours: Any, stock: Any) -> None:
    for _ in range(2):
        np.testing.assert_allclose(ours.predict(_IDS, verbose=0), stock.predict(_IDS, verbose=0), rtol=1e-5, atol=1e-6)
        _trained(ours), _trained(stock)
    np.testing.assert_allclose(np.asarray(ours.users.embeddings), stock.users.embeddings, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("built", [True, False])
@pytest.mark.parametrize("saved", [_weights, _checkpoint])
@pytest.mark.parametrize("name", _MADE)
@pytest.mark.one_case
def test_training_goes_on_as_in_the_original(
    name: str, saved: Any, built: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stock, ours = _trained(_stock(_MADE[name]())), _tables(_MADE[name]())
    load = saved(stock, tmp_path)
    if built:
        _trained(ours)  # with rows, slots and steps that are all replaced
    with caplog.at_level(logging.WARNING, "runtime"):
        load(ours)
        ours(_IDS)
    state = "starts without state" if name == "sgd" else "has its state"
    assert caplog.text.count(f"are those of a stock layer's file; its optimizer {state}") == 3
    _assert_trains_alike(ours, stock)
    again = _tables(_MADE[name]())
    again(_IDS)
    saved(ours, tmp_path)(again)  # a checkpoint of tables
    _assert_trains_alike(again, ours)


def test_an_optimizer_that_comes_later_gets_its_slots(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stock, ours = _trained(_stock(_MADE["adam"]())), Model(runtime.keras.Embedding, runtime.keras.table_variable)
    ours(_IDS)
    _weights(stock, tmp_path)(ours)
    with caplog.at_level(logging.WARNING, "runtime"):
        ours.compile(_MADE["adam"](), "mse")
    assert "the optimizer of the table `users` has the slots of a stock layer's file" in caplog.text
    _assert_trains_alike(ours, stock)


def test_slots_of_another_optimizer_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stock, ours = _trained(_stock(_MADE["adam"]())), _tables(_MADE["adagrad"]())
    with caplog.at_level(logging.WARNING, "runtime"):
        _weights(stock, tmp_path)(ours)
        ours(_IDS)
    assert caplog.text.count("its optimizer starts without state") == 3
    fresh = _stock(_MADE["adagrad"]())
    fresh(_IDS)
    fresh.set_weights(stock.get_weights())
    np.testing.assert_allclose(_trained(ours).predict(_IDS, verbose=0), _trained(fresh).predict(_IDS, verbose=0), 1e-5)


def test_an_optimizer_that_cannot_train_tables_is_refused(tmp_path: Path) -> None:
    load, ours = _weights(_trained(_stock(_LEGACY.RMSprop(0.1))), tmp_path), _tables(_LEGACY.RMSprop(0.1))
    with pytest.raises(
        TypeError, match=r"Keras' legacy RMSprop cannot update the table `factors_?\d*` sparsely: use SGD"
    ):
        load(ours)


def test_buckets_get_their_slots(tmp_path: Path) -> None:
    stock = _trained(_stock(_MADE["adagrad"]()))
    ours = _tables(_MADE["adagrad"](), base_buckets=20)
    _weights(stock, tmp_path)(ours)
    ours(_IDS)
    np.testing.assert_allclose(_trained(ours).predict(_IDS, verbose=0), _trained(stock).predict(_IDS, verbose=0), 1e-5)
