"""`keras.optimizers.legacy` of Keras 2 trains a table as it trains the stock layer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime.keras

K = tf.keras
L: Any = getattr(K.optimizers, "legacy", None)
pytestmark = pytest.mark.skipif(hasattr(K, "Variable"), reason="Keras 3 has no legacy optimizers")
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


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("eagerly", [False, True])
@pytest.mark.one_case
def test_it_trains_to_the_numbers_of_the_stock_layer(optimizer: Callable[[], Any], eagerly: bool) -> None:
    want = _fit(_model(K.layers.Embedding), optimizer(), run_eagerly=eagerly)
    got = _fit(_model(runtime.keras.Embedding), optimizer(), run_eagerly=eagerly)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


class OwnStep(L.SGD if L else object):  # type: ignore[misc]
    """A user's optimizer."""

    def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any, apply_state: Any = None) -> Any:
        return self._resource_scatter_add(var, indices, -grad)


@pytest.mark.parametrize(
    ("optimizer", "message"),
    [
        (lambda: L.RMSprop(0.1), "legacy RMSprop cannot update the table"),
        (lambda: L.Adam(0.1, amsgrad=True), "leave amsgrad out"),
        (lambda: OwnStep(0.1), "legacy OwnStep cannot update the table"),
    ],
)
def test_another_is_refused_before_it_changes_anything(optimizer: Callable[[], Any], message: str) -> None:
    model = _model(runtime.keras.Embedding)
    with pytest.raises(TypeError, match=message):
        _fit(model, optimizer(), run_eagerly=True)
    np.testing.assert_array_equal(model.layers[0].embeddings.numpy(), _ROWS)
    assert (model.layers[-1].kernel.numpy() == np.float32(0.3)).all()


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
