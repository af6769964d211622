"""GraphModifierHook beside other hooks of an Estimator, and feature columns that its input function feeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import GraphModifierHook
from tests.support.rewriter.pipelines import DIM, ROWS, SIZE, ids_of

v1 = tf.compat.v1
pytestmark = pytest.mark.skipif(not hasattr(tf, "estimator"), reason="TensorFlow has no tf.estimator from 2.16 on")


@pytest.mark.soak
def test_feature_columns_of_an_estimator(tmp_path: Path) -> None:
    words = np.array([f"w{n}" for n in ids_of()[:, 0]])

    def data() -> Any:
        features = {"word": words, "kind": np.array([f"k{n}" for n in ids_of()[:, 1]])}
        return tf.data.Dataset.from_tensor_slices((features, ids_of()[:, :1].astype(np.float32))).batch(SIZE)

    def model(features: Any, labels: Any, mode: str) -> Any:
        column = tf.feature_column
        vocabulary = [f"w{n}" for n in range(ROWS - 3)]
        listed = column.categorical_column_with_vocabulary_list("word", vocabulary, num_oov_buckets=2)
        hashed = column.categorical_column_with_hash_bucket("kind", 20)
        starts = v1.random_normal_initializer(stddev=0.3, seed=4)
        columns = [column.embedding_column(one, DIM, initializer=starts) for one in (listed, hashed)]
        hidden = v1.feature_column.input_layer(features, columns)
        scores = v1.layers.dense(hidden, 1, kernel_initializer=v1.glorot_uniform_initializer(seed=5))
        loss = tf.reduce_mean(tf.square(scores - labels))
        trains = mode == tf.estimator.ModeKeys.TRAIN
        step = v1.train.AdagradOptimizer(0.1).minimize(loss, v1.train.get_global_step()) if trains else None
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

    found = []
    for moved in (False, True):
        hooks = [GraphModifierHook(modify_graph=moved) for _ in range(2)]
        config = tf.estimator.RunConfig(tf_random_seed=3)
        estimator = tf.estimator.Estimator(model, str(tmp_path / str(moved)), config)
        estimator.train(data, hooks=hooks[:1])
        found.append(estimator.evaluate(data, hooks=hooks[1:])["loss"])
        assert [len(hook.pipeline.moved) for hook in hooks] == [2 * moved] * 2, hooks[0].pipeline.summary()
    assert found[1] == pytest.approx(found[0], rel=1e-5)
