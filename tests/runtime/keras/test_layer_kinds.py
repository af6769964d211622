"""Layers over tables beside stock ones: with bases, a matrix, equal ids, sparse ids and regularizers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
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


BUCKETS = 8
IDS = np.arange(40)


def _model(layer: Any) -> Any:
    inputs = tf.keras.Input([2], dtype="int64")
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(tf.keras.layers.Flatten()(layer(inputs))))
    model.compile("sgd", "mse", jit_compile=False)
    return model


def _rows(layer: Any, ids: Any) -> np.ndarray:
    return np.asarray(layer(tf.constant(ids, tf.int64)))


def test_ids_begin_as_the_rows_of_a_stock_layer(tmp_path: Path) -> None:
    pairs = np.random.default_rng(1).integers(0, 40, [32, 2])
    stock = _model(tf.keras.layers.Embedding(BUCKETS, 3, name="ids"))
    stock.fit(pairs % BUCKETS, np.ones(32), verbose=0)
    stock.save_weights(str(tmp_path / "stock.weights.h5"))
    free = _model(runtime.keras.Embedding(BUCKETS, 3, name="ids", base_buckets=BUCKETS))
    free.load_weights(str(tmp_path / "stock.weights.h5"))
    np.testing.assert_array_equal(free.predict(pairs, verbose=0), stock.predict(pairs % BUCKETS, verbose=0))
    layer = free.get_layer("ids")
    assert int(layer.table.size()) == 0
    before = _rows(layer, IDS)
    free.fit(pairs[:4], np.ones(4), verbose=0)
    after, trained = _rows(layer, IDS), np.isin(IDS, pairs[:4])
    np.testing.assert_array_equal(after[~trained], before[~trained])
    assert (after[trained] != before[trained]).any(1).all()
    free.save(str(tmp_path / "free.keras"))
    loaded = tf.keras.models.load_model(str(tmp_path / "free.keras")).get_layer("ids")
    np.testing.assert_array_equal(_rows(loaded, IDS), after)
    assert loaded.base_buckets == layer.base_buckets


K = tf.keras
_BY = K.optimizers
_RANDOM = np.random.default_rng(5)
_ROWS = _RANDOM.normal(size=(9, 4)).astype(np.float32)
_HEAD = _RANDOM.normal(size=(8, 1)).astype(np.float32)
#: 60 batches of 8 samples; row 8 is rare.
_FIRST = np.minimum(_RANDOM.zipf(1.3, size=(480, 5)), 9) - 1
_SECOND = np.minimum(_RANDOM.zipf(1.5, size=(480, 3)), 9) - 1
_LABELS_EQUAL = _RANDOM.random((480, 1)).astype(np.float32)


def _ours(**settings: Any) -> Any:
    return runtime.keras.Embedding(9, 4, weights=[_ROWS], **settings)


def _stock(**settings: Any) -> Any:
    return K.layers.Embedding(9, 4, embeddings_initializer=K.initializers.Constant(_ROWS), **settings)


def _model_equal(layer: Any) -> Any:
    """A layer that two inputs share."""
    first, second = K.Input((5,), dtype="int64"), K.Input((3,), dtype="int64")
    pooled = [K.layers.GlobalAveragePooling1D()(layer(ids)) for ids in (first, second)]
    head = K.layers.Dense(1, kernel_initializer=K.initializers.Constant(_HEAD), dtype="float32")
    return K.Model([first, second], head(K.layers.Concatenate()(pooled)))


def _trained_equal(layer: Any, optimizer: Any, **settings: Any) -> tuple[list[float], np.ndarray[Any, Any]]:
    """Return the loss of each of two epochs, and all rows."""
    model = _model_equal(layer)
    model.compile(optimizer=optimizer, loss="mse", **settings)
    history = model.fit([_FIRST, _SECOND], _LABELS_EQUAL, epochs=2, batch_size=8, shuffle=False, verbose=0)
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
    _close(_trained_equal(_ours(), make()), _trained_equal(_stock(), make()))


@pytest.mark.parametrize("settings", [{"steps_per_execution": 3}, {"run_eagerly": True}])
@pytest.mark.one_case
def test_in_every_way_to_run(settings: dict[str, Any]) -> None:
    _close(_trained_equal(_ours(), _BY.Adam(0.01), **settings), _trained_equal(_stock(), _BY.Adam(0.01)))


_ROWS_SPARSE = np.arange(40, dtype=np.float32).reshape(10, 4)
IDS_SPARSE = {
    "absent ids": tf.sparse.from_dense(np.array([[0, 1, 0], [2, 0, 3]])),
    "an empty row": tf.sparse.from_dense(np.array([[0, 0, 0], [2, 0, 3]])),
    "three dimensions": tf.SparseTensor([[0, 0, 1], [1, 1, 0]], np.array([5, 0]), [2, 2, 2]),
    "an id below 0": tf.SparseTensor([[0, 0], [1, 1]], np.array([-1, 7]), [2, 2]),
    "numbers": tf.sparse.from_dense(np.array([[0.0, 1.0], [2.0, 0.0]])),
}


def _layer(kind: Any, **settings: Any) -> Any:
    layer = kind(10, 4, **settings)
    layer.build(None)
    layer.set_weights([_ROWS_SPARSE])
    return layer


def _trained_sparse(layer: Any, ids: Any) -> Any:
    @tf.function  # type: ignore[untyped-decorator]
    def gradient() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(ids, training=True) * tf.constant([1.0, 2.0, 3.0, 4.0]))
        return tape.gradient(loss, layer.trainable_variables)[0]

    found = gradient()
    return tf.scatter_nd(found.indices[:, None], found.values, [10, 4]) if hasattr(found, "indices") else found


@pytest.mark.skipif(hasattr(K, "Variable"), reason="the layer of Keras 3 takes no SparseTensor")
@pytest.mark.parametrize("ids", IDS_SPARSE.values(), ids=IDS_SPARSE)
def test_absent_ids_read_and_train_the_row_of_0(ids: tf.SparseTensor) -> None:
    ours, stock = _layer(runtime.keras.Embedding), _layer(K.layers.Embedding)
    np.testing.assert_array_equal(ours(ids), stock(ids))
    np.testing.assert_allclose(_trained_sparse(ours, ids), tf.convert_to_tensor(_trained_stock(stock, ids)))


def _trained_stock(layer: Any, ids: Any) -> Any:
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(ids) * tf.constant([1.0, 2.0, 3.0, 4.0]))
    return tape.gradient(loss, layer.trainable_variables)[0]


@pytest.mark.skipif(hasattr(K, "Variable"), reason="the layer of Keras 3 takes no SparseTensor")
@pytest.mark.parametrize("ids", [IDS_SPARSE["absent ids"], tf.constant([0, 0, 2])], ids=["sparse", "dense"])
def test_sparse_rows(ids: Any) -> None:
    got, want = (_layer(kind, sparse=True)(ids) for kind in (runtime.keras.Embedding, K.layers.Embedding))
    np.testing.assert_array_equal(tf.sparse.to_dense(got), tf.sparse.to_dense(want))
    np.testing.assert_array_equal(got.indices, want.indices)


@pytest.mark.skipif(hasattr(K, "Variable"), reason="the layer of Keras 3 takes no SparseTensor")
def test_arguments_of_the_stock_layer() -> None:
    with pytest.raises(ValueError, match="`mask_zero` cannot be enabled when"):
        runtime.keras.Embedding(3, 2, sparse=True, mask_zero=True)
    layer = _layer(runtime.keras.Embedding, use_one_hot_matmul=True)
    np.testing.assert_array_equal(layer(tf.constant([3])), _ROWS_SPARSE[3:4])
    assert layer.compute_output_shape((None, 2)).as_list() == [None, 2, 4]


@pytest.mark.skipif(hasattr(K, "Variable"), reason="the layer of Keras 3 takes no SparseTensor")
def test_a_model_of_sparse_inputs_trains_to_the_same_numbers() -> None:
    losses, dense = [], np.array([[0, 1, 5], [2, 0, 3], [0, 0, 9], [4, 4, 1]])
    for kind in (runtime.keras.Embedding, K.layers.Embedding):
        ids = K.Input([3], dtype="int64", sparse=True)
        rows = K.layers.Lambda(lambda rows: tf.reshape(rows, [-1, 12]))(_layer(kind)(ids))
        model = K.Model(ids, K.layers.Dense(1, kernel_initializer=K.initializers.Constant(0.01))(rows))
        model.compile(K.optimizers.Adam(0.01), "mse")
        data = tf.data.Dataset.from_tensor_slices((tf.sparse.from_dense(dense), np.ones([4, 1]))).batch(2)
        losses.append(model.fit(data, epochs=2, verbose=0).history["loss"])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)


_RANDOM_REGULAR = np.random.default_rng(0)
_ROWS_REGULAR = _RANDOM_REGULAR.normal(size=(20, 4)).astype(np.float32)
#: Every id in every batch of 8 samples, some of them more than once.
_IDS_REGULAR = np.concatenate([_RANDOM_REGULAR.permutation(np.r_[0:20, 0:20:1]).reshape(8, 5) for _ in range(3)])
_LABELS_REGULAR = _RANDOM_REGULAR.random((24, 1)).astype(np.float32)


def _fit(layer: Any, ids: Any = _IDS_REGULAR) -> tuple[Any, list[float]]:
    head = K.layers.Dense(1, kernel_initializer="ones")
    model = K.Sequential([layer, K.layers.GlobalAveragePooling1D(), head])
    model.compile(optimizer=K.optimizers.SGD(0.1), loss="mse")
    losses = model.fit(ids, _LABELS_REGULAR[: len(ids)], epochs=3, batch_size=8, shuffle=False, verbose=0).history[
        "loss"
    ]
    return model.predict(_IDS_REGULAR, verbose=0), losses


def test_rows_outside_of_the_batch_stay() -> None:
    layer = runtime.keras.Embedding(20, 4, weights=[_ROWS_REGULAR], rows_regularizer="l2")
    _fit(layer, _IDS_REGULAR[:8] % 10)
    rows = layer(np.arange(20)).numpy()
    np.testing.assert_array_equal(rows[10:], _ROWS_REGULAR[10:])
    assert (np.abs(rows[:10] - _ROWS_REGULAR[:10]).max(axis=1) > 0).all()


def test_evaluation_has_no_penalty() -> None:
    layer = runtime.keras.Embedding(20, 4, weights=[_ROWS_REGULAR], rows_regularizer="l2")
    layer(_IDS_REGULAR)
    assert not layer.losses
    layer(_IDS_REGULAR, training=True)
    np.testing.assert_allclose(float(layer.losses[0]), 0.01 * np.square(_ROWS_REGULAR).sum(), rtol=1e-5)


@pytest.mark.parametrize("optimizer", ["SGD", "Momentum", "Adagrad", "Adam"])
@pytest.mark.parametrize("regularizer", [K.regularizers.L2(0.05), K.regularizers.L1L2(0.001, 0.02)])
@pytest.mark.one_case
def test_the_regularizer_of_all_rows_is_the_stock_layers(optimizer: str, regularizer: Any) -> None:
    """Half of the rows never come, so a step without the term would not move them."""
    make = {"Momentum": lambda: K.optimizers.SGD(0.05, momentum=0.9)}
    ids, results = _IDS_REGULAR % 10, []
    for layer in (
        K.layers.Embedding(
            20, 4, embeddings_initializer=K.initializers.Constant(_ROWS_REGULAR), embeddings_regularizer=regularizer
        ),
        runtime.keras.Embedding(20, 4, weights=[_ROWS_REGULAR], embeddings_regularizer=regularizer),
    ):
        chosen = make.get(optimizer, lambda: getattr(K.optimizers, optimizer)(0.05))()
        model = K.Sequential([layer, K.layers.GlobalAveragePooling1D(), K.layers.Dense(1, kernel_initializer="ones")])
        model.compile(optimizer=chosen, loss="mse")
        losses = model.fit(ids, _LABELS_REGULAR, epochs=3, batch_size=8, shuffle=False, verbose=0).history["loss"]
        losses.append(model.evaluate(ids, _LABELS_REGULAR, verbose=0))
        results.append((losses, model.predict(np.arange(20).reshape(4, 5), verbose=0)))
    (want, rows), (got, ours) = results
    np.testing.assert_allclose(got, want, rtol=1e-5)
    np.testing.assert_allclose(ours, rows, rtol=1e-4, atol=1e-6)


def test_the_regularizer_of_all_rows_is_in_the_configuration() -> None:
    layer = runtime.keras.Embedding(20, 4, embeddings_regularizer="l2")
    assert float(type(layer).from_config(layer.get_config()).embeddings_regularizer.l2) == pytest.approx(0.01)
