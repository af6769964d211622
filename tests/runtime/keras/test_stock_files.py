"""Files of Keras: weights, `.h5` and saved folders of stock layers are read, and stock layers read those of tables."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime.keras
from runtime.feature_column import embedding_column
from tests.support import forking
from tests.support.paths import ROOT

K = tf.keras
_LEGACY = not hasattr(K, "Variable")
_IDS = np.arange(64).reshape(-1, 1) * 7 % 40
_LABELS = (_IDS % 3 == 0).astype(np.float32)


def _functional(layer: Any, dim: int = 4) -> Any:
    ids = K.Input([1], dtype="int64")
    rows = layer(40, dim, name="users")(ids)
    return K.Model(ids, K.layers.Dense(1, activation="sigmoid")(K.layers.Flatten()(rows)))


class Subclassed(K.Model):  # type: ignore[misc]
    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.users, self.flat, self.dense = layer(40, 4), K.layers.Flatten(), K.layers.Dense(1)

    def call(self, ids: Any) -> Any:
        return self.dense(self.flat(self.users(ids)))


def _weights(model: Any, path: Path) -> Callable[[Any], Any]:
    model.save_weights(str(path / "a.weights.h5"))
    return lambda other: other.load_weights(str(path / "a.weights.h5"))


def _folder(model: Any, path: Path) -> Callable[[Any], Any]:
    model.save_weights(str(path / "weights"))
    return lambda other: other.load_weights(str(path / "weights"))


def _checkpoint(model: Any, path: Path) -> Callable[[Any], Any]:
    saved = tf.train.Checkpoint(model=model).save(str(path / "model"))
    return lambda other: tf.train.Checkpoint(model=other).restore(saved)


@pytest.mark.parametrize("saved", [_checkpoint, *([_folder] if _LEGACY else []), _weights])
def test_weights_of_the_original_load(saved: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    original = _functional(K.layers.Embedding)
    original.compile("sgd", "mse")
    original.fit(_IDS, _LABELS, verbose=0)
    load, moved = saved(original, tmp_path), _functional(runtime.keras.Embedding)
    moved.compile("sgd", "mse")
    with caplog.at_level(logging.WARNING, "runtime"):
        load(moved)
    assert "the rows of the table `users` are those of a stock layer's file" in caplog.text
    np.testing.assert_array_equal(moved.predict(_IDS, verbose=0), original.predict(_IDS, verbose=0))
    for each in (original, moved):
        each.fit(_IDS, _LABELS, batch_size=8, shuffle=False, verbose=0)
    np.testing.assert_allclose(moved.predict(_IDS, verbose=0), original.predict(_IDS, verbose=0), rtol=1e-5)
    load_own = saved(moved, tmp_path)  # what is a part of checkpoints is the table alone
    again = _functional(runtime.keras.Embedding)
    load_own(again)
    np.testing.assert_array_equal(again.predict(_IDS, verbose=0), moved.predict(_IDS, verbose=0))


@pytest.mark.skipif(not _LEGACY, reason="Keras 3 restores nothing later")
def test_a_model_that_is_built_later_gets_them_then(tmp_path: Path) -> None:
    original = Subclassed(K.layers.Embedding)
    wanted = original(_IDS)
    load, moved = _checkpoint(original, tmp_path), Subclassed(runtime.keras.Embedding)
    load(moved)
    np.testing.assert_array_equal(moved(_IDS), wanted)


def test_a_matrix_of_another_width_is_refused(tmp_path: Path) -> None:
    load = _checkpoint(_functional(K.layers.Embedding), tmp_path)
    with pytest.raises(ValueError, match=r"a matrix of shape \[40, 4\] for the table `users` of width 3: create"):
        load(_functional(runtime.keras.Embedding, 3))


class Reading(K.Model):  # type: ignore[misc]
    def __init__(self, column: Any) -> None:
        super().__init__()
        feature = tf.feature_column
        ids = feature.categorical_column_with_identity("ids", 40)
        words = feature.categorical_column_with_hash_bucket("words", 9)
        self.features = K.layers.DenseFeatures([column(ids, 4), column(words, 3)])
        self.dense = K.layers.Dense(1)

    def call(self, batch: Any) -> Any:
        return self.dense(self.features(batch))


_BATCH = {"ids": tf.constant(_IDS), "words": tf.strings.as_string(_IDS)}


def _saved_folder(model: Any, path: Path) -> Callable[[Any], Any]:
    model.save(str(path / "folder"))
    return lambda other: other.load_weights(str(path / "folder" / "variables" / "variables"))


@pytest.mark.skipif(not hasattr(K.layers, "DenseFeatures"), reason="Keras 3 has no DenseFeatures")
@pytest.mark.parametrize("built", [True, False])
@pytest.mark.parametrize("saved", [_checkpoint, _folder, _saved_folder, _weights])
@pytest.mark.one_case
def test_weights_of_the_original_load_into_columns(saved: Any, built: bool, tmp_path: Path) -> None:
    original = Reading(tf.feature_column.embedding_column)
    wanted = original.predict(_BATCH, verbose=0)
    load, moved = saved(original, tmp_path), Reading(embedding_column)
    if built or saved is _weights:  # Keras itself fills no layer from .weights.h5 before it is built
        moved(_BATCH)
    load(moved)
    np.testing.assert_allclose(moved.predict(_BATCH, verbose=0), wanted, rtol=1e-6)
    moved.compile("adam", "mse")
    moved.fit(_BATCH, _LABELS, verbose=0)
    again = Reading(embedding_column)
    again(_BATCH)
    saved(moved, tmp_path)(again)
    np.testing.assert_allclose(again.predict(_BATCH, verbose=0), moved.predict(_BATCH, verbose=0), rtol=1e-6)


def _variable(initializer: Any, shape: list[int], name: str) -> tf.Variable:
    return tf.Variable(initializer(shape), name=name)


class Factors(tf.Module):  # type: ignore[misc]
    def __init__(self, variable: Any, dim: int = 4) -> None:
        super().__init__()
        self.rows = variable(tf.random_normal_initializer(), [40, dim], name="rows")
        self.bias = variable(tf.random_normal_initializer(), [40], name="bias")

    def __call__(self) -> Any:
        return tf.gather(self.rows, _IDS[:, 0]) + tf.gather(self.bias, _IDS)


def test_a_checkpoint_of_the_original_loads_into_table_variables(tmp_path: Path) -> None:
    original, moved = Factors(_variable), Factors(runtime.keras.table_variable)
    _checkpoint(original, tmp_path)(moved)
    np.testing.assert_array_equal(moved(), original())
    again = Factors(runtime.keras.table_variable)
    _checkpoint(moved, tmp_path)(again)  # of tables
    np.testing.assert_array_equal(again(), original())
    with pytest.raises(ValueError, match="of width 3: create"):
        _checkpoint(original, tmp_path)(Factors(runtime.keras.table_variable, 3))


_RANDOM = np.random.default_rng(4)
_IDS_H5, _LABELS_H5 = _RANDOM.integers(0, 20, (32, 3)), _RANDOM.normal(size=(32, 1))
OURS, STOCK = runtime.keras.Embedding, K.layers.Embedding


def _model(kind: Any) -> Any:
    """Two layers, of which a model inside has one."""
    K.utils.set_random_seed(3)
    ids = K.Input((3,), dtype="int64")
    inner = K.Sequential([kind(20, 4, name="inner"), K.layers.Flatten()], name="model_inside")
    rows = K.layers.Flatten()(kind(25, 2, name="outer")(ids))
    model = K.Model(ids, K.layers.Dense(1, name="head")(K.layers.Concatenate()([inner(ids), rows])))
    model.compile(K.optimizers.Adam(0.05), "mse")
    return model


def _fit(model: Any, ids: Any = _IDS_H5) -> Any:
    model.fit(ids, _LABELS_H5, epochs=1, shuffle=False, verbose=0)
    return model


@pytest.mark.skipif(hasattr(K, "Variable"), reason="Keras 3 stores weights as .weights.h5")
@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize(("writes", "reads"), [(OURS, OURS), (OURS, STOCK), (STOCK, OURS)])
@pytest.mark.one_case
def test_weights_go_to_and_from_the_stock_layer(writes: Any, reads: Any, by_name: bool, tmp_path: Path) -> None:
    path, first, second = str(tmp_path / "w.h5"), _fit(_model(writes)), _model(reads)
    first.save_weights(path)
    second.load_weights(path, by_name=by_name)
    np.testing.assert_array_equal(second.predict(_IDS_H5, verbose=0), first.predict(_IDS_H5, verbose=0))


@pytest.mark.skipif(hasattr(K, "Variable"), reason="Keras 3 stores weights as .weights.h5")
def test_a_whole_model_goes_on_with_its_slots(tmp_path: Path) -> None:
    path, first = str(tmp_path / "m.h5"), _fit(_model(OURS))
    K.models.save_model(first, path)
    second = K.models.load_model(path)
    np.testing.assert_array_equal(_fit(second).predict(_IDS_H5, verbose=0), _fit(first).predict(_IDS_H5, verbose=0))


@pytest.mark.skipif(hasattr(K, "Variable"), reason="Keras 3 stores weights as .weights.h5")
def test_a_variable_and_a_layer_of_a_subclassed_model(tmp_path: Path) -> None:
    class Own(K.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.rows, self.head = OURS(20, 4), K.layers.Dense(1)
            self.bias = runtime.keras.table_variable(K.initializers.Constant(0.1), [20], "bias_h5")

        def call(self, ids: Any) -> Any:
            return self.head(tf.reduce_sum(self.rows(ids), 1)) + tf.gather(self.bias, ids[:, :1])

    first, second, path = Own(), Own(), str(tmp_path / "w.h5")
    first.compile("adam", "mse")
    _fit(first).save_weights(path)
    second(_IDS_H5)
    second.load_weights(path)
    np.testing.assert_array_equal(second(_IDS_H5), first(_IDS_H5))
    assert second._trainable_weights == [second.bias]


_ROWS = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)


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


def _fit_folder(model: Any) -> Any:
    given = [_IDS, _IDS[::-1]] if len(model.inputs) == 2 else _IDS
    model.fit(given, _LABELS, batch_size=8, epochs=2, shuffle=False, verbose=0)
    return model.predict(given, verbose=0)


@pytest.mark.skipif(hasattr(K, "Variable"), reason="Keras 3 loads no SavedModel as a model")
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("form", [_sequential, _shared])
@pytest.mark.one_case
def test_it_trains_on_as_the_stock_model_does(form: Any, optimizer: str, tmp_path: Path) -> None:
    """Keras 2 itself lets optimizers begin anew there."""
    wanted, found = [], []
    for name, embedding, numbers in (("stock", _stock, wanted), ("ours", _ours, found)):
        model = form(embedding())
        model.compile(optimizer, "binary_crossentropy")
        numbers.append(_fit_folder(model))
        model.save(str(tmp_path / name))
        numbers.append(_fit_folder(K.models.load_model(str(tmp_path / name))))
        numbers.append(_fit_folder(model))  # the loaded model has rows of its own
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.skipif(hasattr(K, "Variable"), reason="Keras 3 loads no SavedModel as a model")
def test_rows_of_later_ids_are_loaded(tmp_path: Path) -> None:
    model = _sequential(_ours())
    model.compile("sgd", "mse")
    model.fit(_IDS + 1000, _LABELS, verbose=0)
    model.save(str(tmp_path / "model"))
    loaded = K.models.load_model(str(tmp_path / "model"))
    assert int(loaded.get_layer("users").table.size()) == int(model.get_layer("users").table.size())
    np.testing.assert_array_equal(*(one.predict(_IDS + 1000, verbose=0) for one in (loaded, model)))


_SAVES = """
import numpy as np, tensorflow as tf, runtime.keras
ids = tf.keras.Input([1], dtype="int64")
rows = tf.keras.layers.Flatten()(runtime.keras.Embedding(40, 4)(ids))
model = tf.keras.Model(ids, tf.keras.layers.Dense(1)(rows))
model.compile("adam", "mse")
model.fit(np.zeros([8, 1], "int64"), np.zeros([8, 1]), verbose=0)
model.export("saved", verbose=False) if hasattr(tf.keras, "Variable") else model.save("saved")
"""


def test_a_model_is_saved_without_warnings_of_autograph(tmp_path: Path) -> None:
    (tmp_path / "saves.py").write_text(_SAVES)
    done = forking.run("saves.py", cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "saved" / "saved_model.pb").exists()
    assert "AutoGraph" not in done.stderr
