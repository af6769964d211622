"""runtime.keras.Embedding beside keras.layers.Embedding: the same rows, batches and optimizer give the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime.keras

K = tf.keras
_LEGACY = not hasattr(K, "Variable")
_RANDOM = np.random.default_rng(0)
_ROWS = _RANDOM.normal(size=(41, 4)).astype(np.float32)
_HEAD = _RANDOM.normal(size=(4, 1)).astype(np.float32)
# Batches of 8 samples without a repeated id; `test_layer_kinds` has others.
_IDS = np.concatenate([_RANDOM.permutation(np.arange(1, 41)).reshape(8, 5) for _ in range(4)])
_LABELS = _RANDOM.random((32, 1)).astype(np.float32)


def _ours(**settings: Any) -> Any:
    return runtime.keras.Embedding(41, 4, weights=[_ROWS], **settings)


def _stock(**settings: Any) -> Any:
    return K.layers.Embedding(41, 4, embeddings_initializer=K.initializers.Constant(_ROWS), **settings)


def _rest() -> list[Any]:
    return [K.layers.GlobalAveragePooling1D(), K.layers.Dense(1, kernel_initializer=K.initializers.Constant(_HEAD))]


def _sequential(embedding: Any) -> Any:
    return K.Sequential([embedding, *_rest()])


def _functional(embedding: Any) -> Any:
    ids = K.Input((5,), dtype="int64")
    rows = embedding(ids)
    pool, dense = _rest()
    return K.Model(ids, dense(pool(rows)))


class Subclassed(K.Model):  # type: ignore[misc]
    def __init__(self, embedding: Any) -> None:
        super().__init__()
        self.embedding = embedding
        self.pool, self.dense = _rest()

    def call(self, ids: Any) -> Any:
        return self.dense(self.pool(self.embedding(ids)))


def _fit(model: Any, optimizer: Any, **settings: Any) -> Any:
    model.compile(optimizer=optimizer, loss="mse", **settings)
    model.fit(_IDS, _LABELS, epochs=2, batch_size=8, shuffle=False, verbose=0)
    return model


def _trained(build: Callable[[Any], Any], optimizer: Callable[[], Any], **settings: Any) -> tuple[Any, Any]:
    ours, stock = (_fit(build(layer()), optimizer(), **settings) for layer in (_ours, _stock))
    return ours, stock


def _assert_equal(ours: Any, stock: Any, rtol: float = 1e-5) -> None:
    predicted = ours.predict(_IDS, verbose=0)
    np.testing.assert_allclose(predicted, stock.predict(_IDS, verbose=0), rtol=rtol, atol=1e-6)
    assert np.abs(predicted - _sequential(_stock())(_IDS).numpy()).max() > 1e-3


@pytest.mark.parametrize("build", [_sequential, _functional, Subclassed])
@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.one_case
def test_models_of_every_kind(build: Any, steps: int) -> None:
    _assert_equal(*_trained(build, lambda: K.optimizers.SGD(0.5), steps_per_execution=steps))


# Batches of 8 samples from 200 rows: most rows are left untouched by most steps, and some by all of them.
_MANY = _RANDOM.normal(size=(200, 4)).astype(np.float32)
_SPARSE_IDS = np.concatenate([_RANDOM.permutation(190)[:40].reshape(8, 5) for _ in range(6)])
_SPARSE_LABELS = _RANDOM.random((48, 1)).astype(np.float32)


def _except_the_table(optimizer: Any) -> Any:
    optimizer.exclude_from_weight_decay(var_names=["embedding"])
    return optimizer


def _schedule() -> Any:
    return K.optimizers.schedules.PiecewiseConstantDecay([3, 7], [0.02, 0.01, 0.005])


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: "sgd",
        lambda: K.optimizers.Adam(0.01, weight_decay=0.05),
        lambda: K.optimizers.Adagrad(0.1, initial_accumulator_value=0.5, epsilon=0.2),
        lambda: K.optimizers.SGD(_schedule(), momentum=0.9, nesterov=True),
        lambda: K.optimizers.SGD(1.0, clipnorm=0.01),
        lambda: K.optimizers.SGD(1.0, clipvalue=0.001),
        lambda: K.optimizers.SGD(1.0, global_clipnorm=0.01),
        lambda: K.optimizers.AdamW(_schedule(), weight_decay=0.1, beta_1=0.8),
        lambda: K.optimizers.AdamW(0.01, weight_decay=0.1, clipnorm=0.02),
        lambda: K.optimizers.AdamW(0.01, weight_decay=0.1, clipvalue=0.001),
        lambda: K.optimizers.AdamW(0.01, weight_decay=0.1, global_clipnorm=0.02),
        lambda: _except_the_table(K.optimizers.AdamW(0.01, weight_decay=0.1)),
        lambda: _except_the_table(K.optimizers.SGD(0.1, weight_decay=0.1)),
        lambda: K.mixed_precision.LossScaleOptimizer(K.optimizers.AdamW(0.01, weight_decay=0.1)),
        lambda: K.optimizers.SGD(0.1, momentum=0.9),
    ],
)
@pytest.mark.one_case
def test_rows_that_most_steps_leave_untouched(optimizer: Any) -> None:
    trained = []
    stock_layer = K.layers.Embedding(200, 4, embeddings_initializer=K.initializers.Constant(_MANY), name="embedding_s")
    for layer in (runtime.keras.Embedding(200, 4, weights=[_MANY], name="embedding_t"), stock_layer):
        model = _sequential(layer)
        model.compile(optimizer=optimizer(), loss="mse")
        model.fit(_SPARSE_IDS, _SPARSE_LABELS, epochs=3, batch_size=8, shuffle=False, verbose=0)
        trained.append([layer(np.arange(200)), model.layers[-1].kernel.numpy()])
    for ours, stock, before in zip(*trained, (_MANY, _HEAD), strict=True):
        np.testing.assert_allclose(ours, stock, rtol=1e-5, atol=1e-6)
        assert np.abs(stock - before).max() > 1e-3


def test_a_step_that_overflows_leaves_decay_and_moments_of_a_table_alone() -> None:
    layer = runtime.keras.Embedding(200, 4, weights=[_MANY])
    model = _sequential(layer)
    optimizer = K.mixed_precision.LossScaleOptimizer(K.optimizers.AdamW(0.01, weight_decay=0.1))
    model.compile(optimizer=optimizer, loss="mse")
    model.fit(_SPARSE_IDS[:8], np.full((8, 1), np.inf), verbose=0)
    np.testing.assert_array_equal(layer(np.arange(200)), _MANY)


def test_a_learning_rate_changed_between_epochs() -> None:
    models = []
    for layer in (_ours, _stock):
        model = _fit(_sequential(layer()), K.optimizers.SGD(0.5))
        model.optimizer.learning_rate = 0.05
        model.fit(_IDS, _LABELS, batch_size=8, shuffle=False, verbose=0)
        models.append(model)
    _assert_equal(*models)


def test_mixed_precision_unscales_before_the_update() -> None:
    K.mixed_precision.set_global_policy("mixed_float16")
    try:
        make = lambda: K.mixed_precision.LossScaleOptimizer(K.optimizers.SGD(0.5))  # noqa: E731
        ours, stock = _trained(_sequential, make)
        assert ours.layers[0](_IDS).dtype == tf.float16
        _, values, *_ = ours.layers[0].table.snapshot()
        assert values.dtype == tf.float32
        _assert_equal(ours, stock, rtol=1e-2)
    finally:
        K.mixed_precision.set_global_policy("float32")


def test_mask_zero_reaches_later_layers() -> None:
    ids = np.array([[1, 2, 0, 0, 0], [3, 0, 0, 4, 0]])
    ours, stock = (_sequential(layer(mask_zero=True)) for layer in (_ours, _stock))
    np.testing.assert_allclose(ours(ids), stock(ids), rtol=1e-6)
    assert np.abs(np.asarray(ours(ids) - _sequential(_ours())(ids))).max() > 1e-3


def test_only_training_inserts() -> None:
    model = _sequential(runtime.keras.Embedding(1, 4))
    model.compile(optimizer="sgd", loss="mse")
    model.predict(_IDS, verbose=0)
    model.evaluate(_IDS, _LABELS, verbose=0)
    assert model.layers[0].table.size() == 0
    model.fit(_IDS, _LABELS, verbose=0)
    assert model.layers[0].table.size() == 40


_FILES = ["x.weights.h5", "checkpoint"] if _LEGACY else ["x.weights.h5"]


@pytest.mark.parametrize("file", _FILES)
@pytest.mark.one_case
def test_saved_weights(file: str, tmp_path: Path) -> None:
    model = _fit(_sequential(_ours()), "sgd")
    model.save_weights(str(tmp_path / file))
    expected = model.predict(_IDS, verbose=0)
    model.fit(_IDS, _LABELS, verbose=0)
    assert np.abs(model.predict(_IDS, verbose=0) - expected).max() > 1e-4
    fresh = _sequential(runtime.keras.Embedding(41, 4))
    fresh.build((None, 5))
    for each in (model, fresh):
        each.load_weights(str(tmp_path / file))
        np.testing.assert_array_equal(each.predict(_IDS, verbose=0), expected)


@pytest.mark.skipif(not _LEGACY, reason="Keras 3 exports tables")
def test_export_of_keras_2_which_drops_tables_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="untracked"):
        _fit(_functional(_ours()), "sgd").export(str(tmp_path / "export"))


def test_what_get_weights_gives_is_no_array() -> None:
    model = _sequential(_ours())
    model(_IDS)
    with pytest.raises(TypeError, match=r"is no array: take its \.keys and \.values"):
        np.asarray(model.get_weights()[0])


@pytest.mark.parametrize("given", [np.zeros(4), np.zeros([9, 3]), 1.0])
def test_what_are_no_rows(given: Any) -> None:
    model = _sequential(_ours())
    model(_IDS)
    before = model.predict(_IDS, verbose=0)
    with pytest.raises(ValueError, match=r"set_weights\(\) got .* or a matrix \[ids, 4\] whose row i is that of id i"):
        model.set_weights([given, *model.get_weights()[1:]])
    np.testing.assert_array_equal(model.predict(_IDS, verbose=0), before)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"embeddings_regularizer": lambda rows: 0.0}, "give it as `rows_regularizer`, which acts on the distinct"),
        ({"embeddings_constraint": "non_neg"}, "does not support `embeddings_constraint`"),
        ({"vocabulary": 3}, "vocabulary"),
        ({"output_dim": 4.5}, r"Embedding needs an integer above 0 as `output_dim`: got 4\.5"),
        ({"input_dim": None}, "an integer above 0 as `input_dim`: got None"),
        ({"input_dim": 0}, "an integer above 0 as `input_dim`: got 0"),
        ({"output_dim": True}, "an integer above 0 as `output_dim`: got True"),
    ],
)
def test_arguments_that_a_table_cannot_honour(settings: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        runtime.keras.Embedding(**{"input_dim": 41, "output_dim": 4, **settings})


@pytest.mark.parametrize("built", [False, True])
def test_a_strategy_is_refused(built: bool) -> None:
    layer = runtime.keras.Embedding(41, 4, name="user")
    if built:
        layer(_IDS)
    message = "the table of the layer `user` does not support tf.distribute strategies: build, compile and fit"
    with tf.distribute.MirroredStrategy(["/cpu:0"]).scope(), pytest.raises(RuntimeError, match=message):
        _fit(_functional(layer), "sgd")
    if _LEGACY:
        return
    with tf.distribute.OneDeviceStrategy("/cpu:0").scope():
        _fit(_functional(layer), "sgd")


def test_xla_is_left_out_or_refused() -> None:
    model = _sequential(_ours())
    if not _LEGACY:
        model.compile(optimizer="sgd", loss="mse", jit_compile=True)
        assert not model.jit_compile
        return
    with pytest.raises((RuntimeError, TypeError, ValueError), match=r"XLA cannot compile the table"):
        _fit(model, "sgd", jit_compile=True)


@pytest.mark.parametrize("by", [lambda: K.optimizers.Adagrad(0.3), lambda: K.optimizers.Adam(0.01)])
@pytest.mark.parametrize("build", [_sequential, _functional])
@pytest.mark.one_case
def test_training_goes_on_after_weights_came_back(by: Any, build: Any) -> None:
    models = []
    first = K.initializers.Constant(0.25)
    for layer in (runtime.keras.Embedding, K.layers.Embedding):
        model = build(layer(41, 4, embeddings_initializer=first))
        model.compile(optimizer=by(), loss="mse")
        settings = {"batch_size": 8, "shuffle": False, "verbose": 0}
        model.fit(_IDS // 2, _LABELS, **settings)
        kept = model.get_weights()
        model.fit(_IDS, _LABELS, epochs=2, **settings)
        model.set_weights(kept)
        model.predict(_IDS, verbose=0)
        model.fit(_IDS, _LABELS, **settings)
        models.append(model)
    _assert_equal(*models)
