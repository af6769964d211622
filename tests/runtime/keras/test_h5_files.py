"""`.h5` files of Keras 2: the stock layer reads what a table wrote, and a table what the stock layer wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime.keras

K = tf.keras
pytestmark = pytest.mark.skipif(hasattr(K, "Variable"), reason="Keras 3 stores weights as .weights.h5")
_RANDOM = np.random.default_rng(4)
_IDS, _LABELS = _RANDOM.integers(0, 20, (32, 3)), _RANDOM.normal(size=(32, 1))
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


def _fit(model: Any, ids: Any = _IDS) -> Any:
    model.fit(ids, _LABELS, epochs=1, shuffle=False, verbose=0)
    return model


@pytest.mark.parametrize("by_name", [False, True])
@pytest.mark.parametrize(("writes", "reads"), [(OURS, OURS), (OURS, STOCK), (STOCK, OURS)])
@pytest.mark.one_case
def test_weights_go_to_and_from_the_stock_layer(writes: Any, reads: Any, by_name: bool, tmp_path: Path) -> None:
    path, first, second = str(tmp_path / "w.h5"), _fit(_model(writes)), _model(reads)
    first.save_weights(path)
    second.load_weights(path, by_name=by_name)
    np.testing.assert_array_equal(second.predict(_IDS, verbose=0), first.predict(_IDS, verbose=0))


def test_a_whole_model_goes_on_with_its_slots(tmp_path: Path) -> None:
    path, first = str(tmp_path / "m.h5"), _fit(_model(OURS))
    K.models.save_model(first, path)
    second = K.models.load_model(path)
    np.testing.assert_array_equal(_fit(second).predict(_IDS, verbose=0), _fit(first).predict(_IDS, verbose=0))


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
    second(_IDS)
    second.load_weights(path)
    np.testing.assert_array_equal(second(_IDS), first(_IDS))
    assert second._trainable_weights == [second.bias]
