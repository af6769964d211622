"""`migrate(model)`: a copy with tables predicts and trains as the model of stock layers, or says why it cannot."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

keras: Any = tf.keras
L = keras.layers
LEGACY = not hasattr(keras, "Variable")
RNG = np.random.default_rng(3)
USERS, ITEMS, SAMPLES = 20, 12, 32
FEATURES = {
    "user": RNG.integers(0, USERS, (SAMPLES, 1)),
    "history": RNG.integers(0, ITEMS, (SAMPLES, 4)),
    "price": RNG.normal(size=(SAMPLES, 3)).astype(np.float32),
}
LABELS = RNG.integers(0, 2, (SAMPLES, 1)).astype(np.float32)


class Scaled(L.Layer):  # type: ignore[misc]
    """A user's layer with an argument, a weight and a weight that is not trained."""

    def __init__(self, power: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.power = power

    def build(self, input_shape: Any) -> None:
        self.factor = self.add_weight(shape=(), initializer="ones", name="factor")
        self.calls = self.add_weight(shape=(), initializer="zeros", name="calls", trainable=False)

    def call(self, inputs: Any) -> Any:
        return self.factor * inputs**self.power

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "power": self.power}


def inputs() -> tuple[Any, Any, Any]:
    """Return the inputs of a user, a history of items and dense values."""
    return (
        keras.Input((1,), dtype="int64", name="user"),
        keras.Input((4,), dtype="int64", name="history"),
        keras.Input((3,), name="price"),
    )


def two_towers(**arguments: Any) -> Any:
    """Return a functional model with a mask, normalization and a user's layer."""
    user, history, price = inputs()
    rows = L.Flatten()(L.Embedding(USERS, 4, name="users", **arguments)(user))
    items = L.GlobalAveragePooling1D()(L.Embedding(ITEMS, 4, mask_zero=True, name="items")(history))
    joined = L.BatchNormalization()(L.Concatenate()([rows, items, Scaled(2)(price)]))
    return keras.Model([user, history, price], L.Dense(1, activation="sigmoid")(joined), name="towers")


def shared() -> Any:
    """Return a model that looks up one layer twice, once through an inner model."""
    user, history, price = inputs()
    items = L.Embedding(ITEMS, 4, name="items")
    one = keras.Input((4,), dtype="int64")
    inner = keras.Model(one, L.Dense(3)(L.GlobalMaxPooling1D()(items(one))), name="inner")
    rows = L.Concatenate()([inner(history), L.Flatten()(items(user % ITEMS)), price])
    return keras.Model([user, history, price], L.Dense(1, activation="sigmoid")(rows))


def wide() -> Any:
    """Return a model of rows of width 1 with L2, as library models have them."""
    user, history, price = inputs()
    l2 = keras.regularizers.L2(0.01)
    terms = [L.Flatten()(L.Embedding(USERS, 1, embeddings_regularizer=l2, name="wide")(user)), price]
    return keras.Model([user, history, price], L.Dense(1, activation="sigmoid")(L.Concatenate()(terms)))


def sequence() -> Any:
    """Return a sequential model with a sequential model inside."""
    inner = keras.Sequential([L.Embedding(ITEMS, 4, name="items"), L.GRU(3)])
    return keras.Sequential([keras.Input((4,), dtype="int64"), inner, L.Dense(1, activation="sigmoid")])


MODELS: dict[str, tuple[Callable[[], Any], int]] = {
    "two towers": (two_towers, 2),
    "an initializer by position": (
        lambda: two_towers(embeddings_initializer=keras.initializers.Orthogonal(seed=1)),
        2,
    ),
    "shared": (shared, 1),
    "wide": (wide, 1),
    "sequential": (sequence, 1),
}


def features(model: Any) -> Any:
    """Return what a model takes."""
    return [FEATURES[name] for name in ("user", "history", "price")] if len(model.inputs) > 1 else FEATURES["history"]


def tables(model: Any) -> list[Any]:
    """Return the layers of a model over tables, also those of inner models."""
    found = [one for one in model._flatten_layers() if hasattr(one, "shares_rows")]
    return list({id(one): one for one in found}.values())


def trained(model: Any, optimizer: str) -> tuple[list[float], Any]:
    """Return the losses of a few epochs and the predictions after them."""
    model.compile(optimizer, "binary_crossentropy")
    losses = model.fit(features(model), LABELS, batch_size=8, epochs=3, shuffle=False, verbose=0).history["loss"]
    return losses, model.predict(features(model), verbose=0)


@pytest.mark.parametrize("optimizer", ["adam", "adagrad"])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.one_case
def test_the_copy_predicts_and_trains_as_the_model(name: str, optimizer: str) -> None:
    from runtime.keras import migrate

    build, count = MODELS[name]
    keras.utils.set_random_seed(5)
    model = build()
    trained(model, "sgd")  # weights that no configuration tells
    moved = migrate(model)
    assert len(tables(moved)) == count
    assert not tables(model)
    np.testing.assert_array_equal(moved.predict(features(model), verbose=0), model.predict(features(model), verbose=0))
    (ours, after), (stock, expected) = trained(moved, optimizer), trained(model, optimizer)
    np.testing.assert_allclose(ours, stock, rtol=1e-5)
    np.testing.assert_allclose(after, expected, rtol=1e-4, atol=1e-6)


def adapted(layer: Any, values: Any) -> Any:
    """Return a layer that has seen values."""
    layer.adapt(np.asarray(values))
    return layer


STATES: dict[str, tuple[Callable[[], list[Any]], Any]] = {
    "words": (lambda: [adapted(L.StringLookup(), ["a", "b", "b"]), L.Embedding(5, 3)], [["b"], ["a"], ["c"]]),
    "integers": (lambda: [adapted(L.IntegerLookup(), [7, 9, 9]), L.Embedding(5, 3)], [[9], [7], [8]]),
    "bins": (lambda: [adapted(L.Discretization(num_bins=3), [[0.1], [0.5], [0.9]]), L.Embedding(5, 3)], [[0.2], [0.7]]),
    "a scale": (lambda: [L.Embedding(5, 1), adapted(L.Normalization(), [[0.1], [0.5], [0.9]])], [[1], [4]]),
}


@pytest.mark.parametrize("name", STATES)
@pytest.mark.one_case
def test_what_layers_hold_beside_weights_is_kept(name: str) -> None:
    from runtime.keras import migrate

    make, values = STATES[name]
    given = tf.constant(values)
    model = chain(given.dtype, 1, *make())
    np.testing.assert_array_equal(migrate(model).predict(given, verbose=0), model.predict(given, verbose=0))


def test_layers_inside_stay_frozen() -> None:
    from runtime.keras import migrate

    still = L.Dense(2, name="still")
    still.trainable = False
    one = keras.Input((4, 3))
    model = of(L.Embedding(ITEMS, 3), keras.Model(one, L.Dense(2)(still(one)), name="inner"))
    moved = migrate(model)
    assert len(moved.trainable_weights) == len(model.trainable_weights) == 3


def test_rows_need_not_be_kept() -> None:
    from runtime.keras import migrate

    moved = migrate(two_towers(embeddings_initializer="ones"), keep_rows=False)
    users = moved.get_layer("users").table
    assert users.size() == 0
    trained(moved, "sgd")
    assert 0 < users.size() == len(np.unique(FEATURES["user"]))


def test_a_layer_that_cannot_move_stays_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    from runtime.keras import migrate

    model = two_towers(embeddings_constraint=keras.constraints.NonNeg())
    with caplog.at_level(logging.WARNING, "runtime"):
        moved = migrate(model)
    assert type(moved.get_layer("users")) is L.Embedding
    assert "the layer `users` is left unchanged: it has an `embeddings_constraint`" in caplog.text
    np.testing.assert_array_equal(moved.get_layer("users").get_weights(), model.get_layer("users").get_weights())


class Tied(L.Layer):  # type: ignore[misc]
    """Scores all items by the rows of another layer."""

    def __init__(self, items: Any) -> None:
        super().__init__()
        self.holder = {"items": [items]}

    def call(self, inputs: Any) -> Any:
        return tf.matmul(inputs, self.holder["items"][0].embeddings, transpose_b=True)


def scored(score: Callable[[Any, Any], Any]) -> Any:
    """Return a model that scores a history by `score` of its mean row and the layer."""
    history = keras.Input((4,), dtype="int64")
    items = L.Embedding(ITEMS, 4, name="items")
    mean = L.GlobalAveragePooling1D()(items(history))
    return keras.Model(history, score(mean, items))


def by_a_closure(mean: Any, items: Any) -> Any:
    matrix = items.embeddings
    return L.Lambda(lambda x: tf.matmul(x, matrix, transpose_b=True), output_shape=(ITEMS,))(mean)


def by_an_operation(mean: Any, items: Any) -> Any:
    if LEGACY:
        return tf.matmul(mean, items.embeddings, transpose_b=True)
    return keras.ops.einsum("bd,id->bi", mean, items.embeddings)


SCORES = {
    "a layer": lambda mean, items: Tied(items)(mean),
    "a closure": by_a_closure,
    "an operation": by_an_operation,
}


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.filterwarnings("ignore")
def test_a_layer_whose_matrix_is_used_elsewhere_stays(name: str) -> None:
    from runtime.keras import migrate

    with pytest.raises(
        ValueError, match="`items` is left unchanged: another layer or operation uses the layer or its matrix"
    ):
        migrate(scored(SCORES[name]))


@pytest.mark.filterwarnings("ignore")
def test_a_copy_holds_no_weight_of_the_original() -> None:
    from runtime.keras import migrate

    dense = L.Dense(4, name="dense_one")
    again = L.Lambda(lambda rows: rows @ dense.kernel, output_shape=(4, 4))
    with pytest.raises(ValueError, match="holds the layer `dense_one` of the model, or a weight"):
        migrate(of(L.Embedding(ITEMS, 4), dense, again))


class Own(keras.Model):  # type: ignore[misc]
    """A model of a class of its own."""

    def call(self, inputs: Any) -> Any:
        return inputs


class Careless(L.Layer):  # type: ignore[misc]
    """A layer whose configuration lacks an argument."""

    def __init__(self, units: int = 2, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.inner = L.Dense(units)

    def build(self, input_shape: Any) -> None:
        self.inner.build(input_shape)

    def call(self, inputs: Any) -> Any:
        return self.inner(inputs)

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name}


class Forgetful(L.Layer):  # type: ignore[misc]
    """Another, whose weights do not tell."""

    def __init__(self, rate: float = 0.1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = [rate]

    def call(self, inputs: Any) -> Any:
        return self.rate[0] * inputs

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name}


class Maker(L.Layer):  # type: ignore[misc]
    """A layer that makes its own."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = L.Embedding(ITEMS, 2, name="within")

    def call(self, inputs: Any) -> Any:
        return self.rows(inputs)


def chain(dtype: Any, size: int, *layers: Any) -> Any:
    """Return a functional model of a chain of layers."""
    rows = given = keras.Input((size,), dtype=tf.as_dtype(dtype).name)
    for layer in layers:
        rows = layer(rows)
    return keras.Model(given, rows)


def of(*layers: Any) -> Any:
    """Return a functional model of a chain of layers over a history."""
    return chain(tf.int64, 4, *layers)


def stepping() -> Any:
    """Return a model with a training step of its own."""
    model = of(L.Embedding(ITEMS, 4))
    model.train_step = lambda data: {"loss": tf.constant(0.0)}
    return model


def calling(layer: Any) -> Any:
    """Return a layer whose `call` was replaced."""
    layer.call = lambda inputs, stock=layer.call: 2 * stock(inputs)
    return layer


def penalized() -> Any:
    """Return a model of Keras 2 with a loss that a copy has no call for."""
    items, other = L.Embedding(ITEMS, 4), L.Dense(2)
    model = of(items, other)
    model.add_loss(lambda: tf.reduce_sum(other.kernel))
    return model


def frozen() -> Any:
    """Return a layer that is not trained."""
    layer = L.Embedding(ITEMS, 4, name="items")
    layer.trainable = False
    return layer


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "nothing": (tuple, TypeError, "got nothing"),
    "no model": (lambda: ["model"], TypeError, "needs a model of Keras: got str"),
    "a class": (lambda: [Own()], ValueError, "neither functional nor sequential"),
    "no layer": (lambda: [of(L.Dense(2))], ValueError, "no Embedding layer"),
    "not trained": (lambda: [of(frozen())], ValueError, "`items` stays: it is not trained"),
    "inside": (lambda: [of(Maker())], ValueError, "creates the layer `within` itself"),
    "a step": (lambda: [stepping()], ValueError, "has methods of its own, which a copy would lack"),
    "a call": (
        lambda: [of(calling(L.Embedding(ITEMS, 4, name="items")))],
        ValueError,
        "`items` has a `call` that was set on the object",
    ),
    "a call elsewhere": (
        lambda: [of(L.Embedding(ITEMS, 4), calling(L.Dense(2, name="two")))],
        ValueError,
        "`two` has a `call` that was set on the object",
    ),
    "careless": (lambda: [of(L.Embedding(ITEMS, 4), Careless(3))], ValueError, "differs when it is created"),
    "forgetful": (
        lambda: [of(L.Embedding(ITEMS, 4), Forgetful(0.5))],
        ValueError,
        "`rate` would be .*0.1.*, and is .*0.5",
    ),
}
if LEGACY:
    REFUSED["a loss"] = (lambda: [penalized()], ValueError, "got an add_loss")


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_move_is_said(name: str) -> None:
    from runtime.keras import migrate

    make, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        migrate(*make())
