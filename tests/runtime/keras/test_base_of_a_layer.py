"""A layer of Keras whose ids begin as the rows of their buckets, which a stock layer has trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import runtime
import runtime.keras

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
