"""Weights that the original model saved: the converted one has its rows, whatever the format."""

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
