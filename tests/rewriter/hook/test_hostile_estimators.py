"""GraphModifierHook beside other hooks of an Estimator, and feature columns that its input function feeds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import GraphModifierHook
from tests.support.rewriter.pipelines import DIM, ROWS, SIZE, examples, ids_of, loss_of, step_of

v1 = tf.compat.v1
pytestmark = pytest.mark.skipif(not hasattr(tf, "estimator"), reason="TensorFlow has no tf.estimator from 2.16 on")


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.one_case
def test_the_input_of_an_estimator_is_checkpointed(before: bool, tmp_path: Path) -> None:
    def model(features: Any, labels: Any, mode: str) -> Any:
        del labels
        loss = loss_of(features["ids"] * 3 % ROWS)
        count = v1.assign_add(v1.train.get_global_step(), 1)
        seen = tf.identity(features["ids"], "seen")
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.group(step_of(loss), count, seen))

    found = []
    for moved in (False, True):
        seen = _Seen()
        config = tf.estimator.RunConfig(save_checkpoints_steps=2, tf_random_seed=3)
        estimator = tf.estimator.Estimator(model, str(tmp_path / str(moved)), config)
        for _ in range(2):
            hooks = [tf.data.experimental.CheckpointInputPipelineHook(estimator)]
            hooks.insert(0 if before else 1, GraphModifierHook(modify_graph=moved))
            estimator.train(lambda: examples().batch(SIZE), hooks=[*hooks, seen], steps=4)
        found.append(np.concatenate(seen.batches))
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[0], ids_of())


class _Seen(v1.train.SessionRunHook):  # type: ignore[misc]
    def __init__(self) -> None:
        self.batches: list[Any] = []

    def before_run(self, run_context: Any) -> Any:
        return v1.train.SessionRunArgs("seen:0")

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.batches.append(run_values.results)


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
