"""Layers that their configuration does not tell whole: the copy of `migrate` has what it lacks, or it is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

keras: Any = tf.keras
L = keras.layers
LEGACY = not hasattr(keras, "Variable")
ITEMS, SAMPLES = 12, 32
RNG = np.random.default_rng(3)
HISTORY = RNG.integers(0, ITEMS, (SAMPLES, 4))
LABELS = RNG.integers(0, 2, (SAMPLES, 1)).astype(np.float32)


class Bare(L.Layer):  # type: ignore[misc]
    """A layer whose configuration has not even what every layer has."""

    def build(self, input_shape: Any) -> None:
        self.factor = self.add_weight(shape=(4,), initializer="ones", name="factor")

    def call(self, inputs: Any) -> Any:
        return inputs * self.factor

    def get_config(self) -> dict[str, Any]:
        return {}


class Stack(L.Layer):  # type: ignore[misc]
    """A layer of layers of one shape, so that weights in another order would fit."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.inner = [Bare(), Bare(), L.Dense(4)]

    def call(self, inputs: Any) -> Any:
        for layer in self.inner:
            inputs = layer(inputs)
        return inputs


class Box:
    """A value of a user's class."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Holder(L.Layer):  # type: ignore[misc]
    """A layer with a setting of any type that its configuration lacks."""

    def __init__(self, held: Any = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.held = held

    def call(self, inputs: Any) -> Any:
        return inputs

    def get_config(self) -> dict[str, Any]:
        return dict(super().get_config())


class Doubled(L.Dense):  # type: ignore[misc]
    """A layer of Keras with another `call`."""

    def call(self, inputs: Any) -> Any:
        return 2 * super().call(inputs)


def of(*layers: Any, mask_zero: bool = False) -> Any:
    """Return a model of a chain of layers over the rows of a history."""
    given = keras.Input((4,), dtype="int64", name="history")
    rows = L.Embedding(ITEMS, 4, mask_zero=mask_zero, name="items")(given)
    for layer in layers:
        rows = layer(rows)
    return keras.Model(given, L.Dense(1)(L.GlobalAveragePooling1D()(rows)))


def but(layer: Any, **attributes: Any) -> Any:
    """Return a layer with attributes set."""
    for name, value in attributes.items():
        setattr(layer, name, value)
    return layer


def partly_frozen() -> Any:
    """Return a layer of which one inside is not trained."""
    layer = Stack()
    layer.inner[0].trainable = False
    return layer


def relu(values: Any) -> Any:
    """Return something else than the function of this name in Keras."""
    return 0.5 * values


KEPT: dict[str, Callable[[], Any]] = {
    "a frozen layer inside": lambda: of(partly_frozen()),
    "a regularizer of the result": lambda: of(Bare(activity_regularizer=keras.regularizers.L2(0.3))),
    "a mask": lambda: of(but(Bare(), supports_masking=True), mask_zero=True),
    "a name of Keras": lambda: of(L.Dense(3, activation=relu), L.TimeDistributed(L.Dense(2, activation="relu"))),
    "a lambda": lambda: of(L.Dense(3, activation=lambda x: 0.5 * x, kernel_initializer=lambda s, dtype: tf.ones(s))),
    "a class of the user's inside": lambda: of(L.TimeDistributed(Doubled(3))),
}


def trained(model: Any) -> tuple[Any, Any, Any]:
    """Return losses, predictions after training, and the number of trained weights."""
    keras.utils.set_random_seed(5)
    model.compile("adam", "mse")
    losses = model.fit(HISTORY, LABELS, batch_size=8, epochs=2, shuffle=False, verbose=0).history["loss"]
    return losses, model.predict(HISTORY, verbose=0), len(model.trainable_weights)


def assert_same(moved: Any, model: Any) -> None:
    """Compare two models, before and after training."""
    np.testing.assert_array_equal(moved.predict(HISTORY, verbose=0), model.predict(HISTORY, verbose=0))
    (ours, after, count), (stock, expected, wanted) = trained(moved), trained(model)
    assert count == wanted
    np.testing.assert_allclose(ours, stock, rtol=1e-5)
    np.testing.assert_allclose(after, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.one_case
def test_the_copy_has_what_a_configuration_lacks(name: str) -> None:
    from runtime.keras import migrate

    model = KEPT[name]()
    names = [layer.name for layer in model.layers]
    weights = model.get_weights()
    model.set_weights([weight + RNG.normal(size=weight.shape) for weight in weights])
    moved = migrate(model)
    assert [layer.name for layer in moved.layers] == names
    assert_same(moved, model)


def late(layer: Any, **attributes: Any) -> Any:
    """Return a model with a layer that is told something after its weights were made."""
    model = of(layer)
    but(layer, **attributes)
    return model


def changed_items(**attributes: Any) -> Any:
    """Return a model whose Embedding is told something later."""
    model = of()
    but(model.get_layer("items"), **attributes)
    return model


def with_method(holder: Any, name: str) -> Any:
    """Return a layer or model with a method of its own."""
    stock = getattr(holder, name)
    setattr(holder, name, lambda *args, **kwargs: stock(*args, **kwargs))
    return holder


L2 = keras.regularizers.L2(0.1)
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a tensor": (lambda: of(but(Holder(tf.constant(1.0)), held=tf.constant(4.0))), "its `held` would be"),
    "a set": (lambda: of(Holder({1, 2})), "its `held` would be 1.0 then"),
    "an object": (lambda: of(but(Holder(), held=Box(4.0))), "its `held` would be 1.0 then"),
    "a dtype": (lambda: of(Bare(dtype="mixed_float16")), "its `compute_dtype` would be 'float32', and is 'float16'"),
    "a regularizer": (lambda: late(L.Dense(3), kernel_regularizer=L2), "constraints were changed after its weights"),
    "another regularizer": (
        lambda: late(L.Dense(3, kernel_regularizer="l2"), kernel_regularizer=L2),
        "constraints were changed after its weights",
    ),
    "a constraint": (
        lambda: late(L.Dense(3), kernel_constraint=keras.constraints.NonNeg()),
        "constraints were changed after its weights",
    ),
    "a regularizer of rows": (
        lambda: changed_items(embeddings_regularizer=L2),
        "`items` stays: its regularizer or constraint was changed after its matrix was created",
    ),
    "a mask of rows": (lambda: changed_items(mask_zero=True), "`items` stays: its `mask_zero` was changed"),
    "a mask of its own": (
        lambda: of(with_method(Bare(name="bare"), "compute_mask")),
        "has a `compute_mask` that was set on the object",
    ),
    "a loop of its own": (lambda: with_method(of(), "make_train_function"), "has methods of its own"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_differ_is_refused(name: str) -> None:
    from runtime.keras import migrate

    make, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        migrate(make())


def test_an_rnn_goes_on_from_its_state() -> None:
    from runtime.keras import migrate

    given = keras.Input(batch_shape=(SAMPLES, 4), dtype="int64")
    model = keras.Model(given, L.SimpleRNN(3, stateful=True, unroll=True)(L.Embedding(ITEMS, 4)(given)))
    model.predict(HISTORY, batch_size=SAMPLES, verbose=0)
    moved = migrate(model)
    ours, stock = (one.predict(HISTORY, batch_size=SAMPLES, verbose=0) for one in (moved, model))
    np.testing.assert_allclose(ours, stock, rtol=1e-6)


@pytest.mark.skipif(LEGACY, reason="Keras 3")
def test_what_keras_3_keeps_beside_weights() -> None:
    from runtime.keras import migrate

    dense = L.Dense(4)
    model = of(dense, L.Dropout(0.5))
    trained(model)  # moves the state of the random numbers, and compiles it with a loss of its own
    model.compile("adam", lambda labels, values: tf.reduce_mean((labels - values) ** 2))
    dense.enable_lora(2)
    moved = migrate(model)
    assert not moved.compiled and model.compiled
    assert_same(moved, model)


@pytest.mark.skipif(LEGACY, reason="Keras 3")
def test_inputs_of_keras_3_are_made_as_they_were() -> None:
    from runtime.keras import migrate

    given = keras.Input((4,), dtype="int64"), keras.Input((3,), sparse=True), keras.Input((3,), optional=True)
    rows = L.Flatten()(L.Embedding(ITEMS, 4)(given[0]))
    model = keras.Model(given, L.Concatenate()([rows, L.Dense(2)(given[1])]))
    moved = migrate(model)
    for ours, stock in zip(moved.inputs, model.inputs, strict=True):
        wanted = stock._keras_history.operation.get_config()
        assert ours._keras_history.operation.get_config() == wanted


def test_a_model_scales_its_loss_as_before() -> None:
    from runtime.keras import migrate

    keras.mixed_precision.set_global_policy("mixed_float16")
    try:
        model = of()
    finally:
        keras.mixed_precision.set_global_policy("float32")
    moved = migrate(model)
    for one in (moved, model):
        one.compile("adam", "mse")
        assert "LossScale" in type(one.optimizer).__name__
