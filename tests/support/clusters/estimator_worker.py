"""One task of a cluster, `estimator_worker.py OUT STEPS`, by `tf.estimator.train_and_evaluate`.

Task i of n workers takes the i-th of n parts of each batch; the evaluator writes the losses that it found, by step, and
the rows that it restored last.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import runtime
from runtime import optimizers
from tests.support.clusters import waits
from tests.support.clusters.model import KEYS, batches

v1 = tf.compat.v1


def model_fn(features: Any, labels: Any, mode: str) -> Any:
    """Build a wide model of one table, looked up as bags, and a dense bias."""
    table = runtime.create_table(tf.int64, 4, "user", v1.random_normal_initializer(stddev=0.1))
    rows = runtime.safe_embedding_lookup_sparse(
        table, tf.sparse.from_dense(features["ids"] + 1), combiner="sum", is_train=mode == tf.estimator.ModeKeys.TRAIN
    )
    bias = v1.get_variable("bias", [], initializer=v1.zeros_initializer())
    score = tf.reduce_sum(rows, 1) + bias
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"score": score})
    loss = tf.reduce_mean((score - labels) ** 2)
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss)
    step = v1.train.get_global_step()
    dense, sparse = runtime.get_dense_and_sparse_variable()
    grads = v1.train.GradientDescentOptimizer(0.01).compute_gradients(loss, dense + sparse)
    ops = [
        v1.train.GradientDescentOptimizer(0.01).apply_gradients(grads[: len(dense)], step),
        optimizers.adam.create_hash_optimizer(0.05).apply_gradients(grads[len(dense) :]),
    ]
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.group(*ops))


def inputs(part: int, parts: int, repeats: bool) -> tf.data.Dataset:
    """Return part of each batch as features and labels."""
    ids, labels = (np.stack(one) for one in zip(*batches(50), strict=True))
    data = tf.data.Dataset.from_tensor_slices(({"ids": ids[:, part::parts]}, labels[:, part::parts]))
    return data.repeat() if repeats else data


def main(out: Path, steps: int) -> None:
    """Run this task."""
    task = json.loads(os.environ["TF_CONFIG"])["task"]
    cluster = json.loads(os.environ["TF_CONFIG"])["cluster"]
    parts = len(cluster.get("worker", [])) + 1
    part = 0 if task["type"] == "chief" else 1 + task["index"]
    config = tf.estimator.RunConfig(str(out / "model"), tf_random_seed=5, save_checkpoints_steps=steps // 2)
    estimator = tf.estimator.Estimator(model_fn, config=config)
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(lambda: inputs(part, parts, repeats=True), max_steps=steps),
        tf.estimator.EvalSpec(lambda: inputs(0, 1, repeats=False), steps=None, start_delay_secs=0, throttle_secs=0),
    )
    if task["type"] == "evaluator":
        ids = np.arange(KEYS)[:, None]
        data = tf.data.Dataset
        scores = estimator.predict(lambda: data.from_tensors({"ids": ids}))
        found = estimator.evaluate(lambda: inputs(0, 1, repeats=False))
        (out / "evaluated.json").write_text(
            json.dumps(
                {
                    "step": int(found["global_step"]),
                    "loss": float(found["loss"]),
                    "scores": [float(one["score"]) for one in scores],
                }
            )
        )
    print("done", task["type"], task["index"], flush=True)


if __name__ == "__main__":
    waits.shorten()
    main(Path(sys.argv[1]), int(sys.argv[2]))
