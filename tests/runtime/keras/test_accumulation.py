"""`gradient_accumulation_steps` of Keras 3 on tables, beside the stock layer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
K: Any = tf.keras
if not hasattr(K, "Variable"):
    pytest.skip("Keras 2 has no gradient accumulation", allow_module_level=True)

import runtime.keras  # noqa: E402

_RANDOM = np.random.default_rng(5)
_ROWS = _RANDOM.normal(size=(9, 4)).astype(np.float32)
#: 60 batches of 4 samples, most ids several times; row 8 is rare.
_IDS = np.minimum(_RANDOM.zipf(1.4, size=(240, 5)), 9) - 1
_LABELS = _RANDOM.random((240, 1)).astype(np.float32)
_OPTIMIZERS: dict[str, Callable[[int], Any]] = {
    "sgd": lambda n: K.optimizers.SGD(0.3, gradient_accumulation_steps=n),
    "momentum": lambda n: K.optimizers.SGD(0.3, momentum=0.9, gradient_accumulation_steps=n),
    "adagrad": lambda n: K.optimizers.Adagrad(0.3, gradient_accumulation_steps=n),
    "adam": lambda n: K.optimizers.Adam(0.02, gradient_accumulation_steps=n),
    "adamw": lambda n: K.optimizers.AdamW(0.02, weight_decay=0.05, gradient_accumulation_steps=n),
    "clipnorm": lambda n: K.optimizers.Adam(0.02, clipnorm=0.02, gradient_accumulation_steps=n),
    "clipvalue": lambda n: K.optimizers.Adagrad(0.3, clipvalue=0.003, gradient_accumulation_steps=n),
    "global_clipnorm": lambda n: K.optimizers.Adam(0.02, global_clipnorm=0.02, gradient_accumulation_steps=n),
    "schedule": lambda n: K.optimizers.Adam(
        K.optimizers.schedules.ExponentialDecay(0.05, 5, 0.8), gradient_accumulation_steps=n
    ),
}


def _layer(ours: bool, **settings: Any) -> Any:
    start = K.initializers.Constant(_ROWS)
    if ours:
        return runtime.keras.Embedding(9, 4, weights=[_ROWS], **settings)
    return K.layers.Embedding(9, 4, embeddings_initializer=start, **settings)


def _model(ours: bool, optimizer: Any, settings: Any = None, **compiled: Any) -> Any:
    head = K.layers.Dense(1, kernel_initializer="ones", dtype="float32")
    layer = _layer(ours, **(settings or {}))
    model = K.Sequential([K.Input((5,), dtype="int64"), layer, K.layers.GlobalAveragePooling1D(), head])
    model.compile(optimizer, "mse", **compiled)
    return model


def _fit(model: Any, epochs: int = 2, count: int = 240) -> list[float]:
    done = model.fit(_IDS[:count], _LABELS[:count], epochs=epochs, batch_size=4, shuffle=False, verbose=0)
    return list(done.history["loss"])


def _rows(model: Any) -> Any:
    return np.asarray(model.layers[0].embeddings)


@pytest.mark.parametrize("steps", [2, 7])
@pytest.mark.parametrize("name", _OPTIMIZERS)
def test_tables_gather_as_variables_do(name: str, steps: int) -> None:
    losses, rows = [], []
    for ours in (True, False):
        model = _model(ours, _OPTIMIZERS[name](steps))
        losses.append(_fit(model))
        rows.append(_rows(model))
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)
    np.testing.assert_allclose(rows[0], rows[1], rtol=1e-5, atol=1e-5)
    assert np.abs(rows[1] - _ROWS).max() > 0.02


def test_a_file_keeps_what_waits(tmp_path: Path) -> None:
    """After 10 batches of 3 a step, the gradients of one batch wait; the loaded model goes on with them."""
    pair = [_model(one, _OPTIMIZERS["adam"](3)) for one in (True, False)]
    losses = []
    for number, model in enumerate(pair):
        _fit(model, 1, 40)
        model.save(tmp_path / f"{number}.keras")
        losses.append(_fit(K.models.load_model(tmp_path / f"{number}.keras"), 1))
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)
    waiting = pair[0].layers[0].table.variable.waiting
    assert waiting.keys.shape == [None]
    assert len(waiting.keys.numpy()) > 0


def test_a_checkpoint_keeps_what_waits(tmp_path: Path) -> None:
    model, again = (_model(True, _OPTIMIZERS["adam"](3)) for _ in range(2))
    _fit(model, 1, 40)
    path = tf.train.Checkpoint(model=model).save(str(tmp_path / "saved"))
    again.optimizer.build(again.trainable_variables)
    tf.train.Checkpoint(model=again).restore(path)
    np.testing.assert_allclose(_fit(again, 1), _fit(model, 1), rtol=1e-6)


def test_a_custom_loop() -> None:
    found = []
    for ours in (True, False):
        model, optimizer = _model(ours, "sgd"), _OPTIMIZERS["adagrad"](2)

        @tf.function
        def step(ids: Any, labels: Any, model: Any = model, optimizer: Any = optimizer) -> Any:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(ids, training=True) - labels) ** 2)
            optimizer.apply_gradients(
                zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True)
            )
            return loss

        found.append([float(step(_IDS[i : i + 4], _LABELS[i : i + 4])) for i in range(0, 80, 4)])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


@pytest.mark.parametrize("steps", [None, 2])
def test_the_factor_of_the_loss_is_taken_out(steps: int | None) -> None:
    from runtime.keras import Embedding

    found = []
    for factor in (None, 8.0):
        layer = Embedding(6, 3, embeddings_initializer="ones", embeddings_regularizer="l2")
        model = tf.keras.Sequential([layer, tf.keras.layers.Flatten()])
        model.compile(tf.keras.optimizers.SGD(0.1, loss_scale_factor=factor, gradient_accumulation_steps=steps), "mse")
        model.fit(np.array([[1], [2], [1], [4]]), np.zeros((4, 3)), batch_size=1, shuffle=False, verbose=0)
        found.append(np.asarray(layer.embeddings))
    assert found[0].min() < 0.99
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
