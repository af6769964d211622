"""Keras' `fit` and `apply_gradients` over ranks: the numbers of one process on whole batches."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime import ranks
from runtime.keras import DistributedOptimizer, Embedding, MetricAverageCallback
from runtime.ranks import checkpoint
from tests.support import forking, programs
from tests.support.ranks import keras_worker, thread_ranks


def test_two_ranks_fit_as_one_process(tmp_path: Path) -> None:
    """Horovod connects the ranks where it is installed, as CI has it for TensorFlow 2.15."""
    engine = "collectives" if importlib.util.find_spec("horovod") is None else "horovod"
    program = [keras_worker.__file__, str(tmp_path / "run")]
    command = [forking.python(), "-m", "runtime.launch", "-n", "2", "--engine", engine, *program]
    done = programs.run(command)
    assert done.returncode == 0, done.stderr[-4000:]
    want = keras_worker.stock()
    for rank in range(2):
        found = np.load(tmp_path / f"run-{rank}.npz")
        assert str(found["engine"]) == engine
        for name, values in want.items():
            assert np.abs(found[name] - values).max() <= 1e-5 * np.abs(values).max(), name
        patterns = (
            r"`fit` would let the copies .* on 2 ranks diverge: compile .*DistributedOptimizer\(",
            "Adam with global_clipnorm would clip by the rows of each of 2 ranks separately",
            "has no weights to copy to other ranks",
            "are distributed over 2 ranks",
        )
        for said, pattern in zip(found["said"], patterns, strict=True):
            assert re.search(pattern, str(said)), said
    table = Embedding(keras_worker.KEYS, keras_worker.DIM)
    model = keras_worker.model_of(table, 1)
    checkpoint.restore(tf.train.Checkpoint(model=model), str(tmp_path / "run.ckpt"))
    np.testing.assert_array_equal(table(tf.range(keras_worker.KEYS), training=False), found["rows"])
    np.testing.assert_array_equal(model.layers[-1].get_weights()[0], found["kernel"])


def test_what_cannot_be_distributed() -> None:
    adam = tf.keras.optimizers.Adam()
    kept = DistributedOptimizer(adam)
    assert kept is adam
    assert type(adam).__name__ == "Adam"
    variable = tf.Variable(1.0)
    kept.apply_gradients([(tf.constant(1.0), variable)])  # alone, as without
    np.testing.assert_allclose(variable, 0.999, rtol=1e-6)
    scaled = getattr(tf.keras.mixed_precision, "LossScaleOptimizer", None) or tf.keras.optimizers.LossScaleOptimizer
    for given, error, message in (
        (adam, ValueError, "wrap it once"),
        (tf.compat.v1.train.AdamOptimizer(), TypeError, r"runtime\.ranks\.reduced_gradients"),
        (scaled(tf.keras.optimizers.SGD()), TypeError, "with the inner optimizer"),
    ):
        with pytest.raises(error, match=message):
            DistributedOptimizer(given)


def test_metrics_are_averaged_whatever_their_shape() -> None:
    def body() -> dict[str, Any]:
        logs: dict[str, Any] = {"f1": np.array([ranks.rank(), 4.0]), "loss": 2.0 * ranks.rank()}
        MetricAverageCallback().on_epoch_end(0, logs)
        return logs

    for logs in thread_ranks.run(2, body)[0]:
        assert logs["loss"] == 1.0
        np.testing.assert_array_equal(logs["f1"], [0.5, 4.0])
