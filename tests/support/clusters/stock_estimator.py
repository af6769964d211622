"""One task of a stock program, `stock_estimator.py OUT [strategy]`, by `train_and_evaluate`.

With `strategy`, RunConfig has a ParameterServerStrategy. The chief writes the loss of each step to OUT.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import tensorflow.compat.v1 as tf


class Losses(tf.train.SessionRunHook):  # type: ignore[misc]
    """Writes what a tensor had in each step, at the end."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.values: list[float] = []

    def before_run(self, run_context: Any) -> Any:
        """Ask for the tensor."""
        return tf.train.SessionRunArgs(self.tensor)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Note its value."""
        self.values.append(float(run_values.results))

    def end(self, session: Any) -> None:
        """Write all values."""
        Path(sys.argv[1]).write_text(json.dumps(self.values))


def model_fn(features: Any, labels: Any, mode: str) -> Any:
    """Build a wide model of one table, and a dense layer."""
    users = tf.get_variable("estimator_users", [1000, 4], initializer=tf.constant_initializer(0.1))
    weights = tf.get_variable("weights", [4], initializer=tf.constant_initializer(0.5))
    logit = tf.reduce_sum(tf.nn.embedding_lookup(users, features["user"]) * weights, axis=1)
    loss = tf.losses.sigmoid_cross_entropy(labels, logit)
    step = tf.train.AdagradOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step, training_hooks=[Losses(loss)])


def input_fn() -> Any:
    """Return batches of 32 samples, which repeat after five."""
    ids = tf.range(160, dtype=tf.int64)
    features = {"user": ids * 7 % 1000}
    return tf.data.Dataset.from_tensor_slices((features, tf.cast(ids % 2, tf.float32))).batch(32).repeat()


def main() -> None:
    """Run this task."""
    strategy = tf.distribute.experimental.ParameterServerStrategy() if "strategy" in sys.argv else None
    config = tf.estimator.RunConfig(tempfile.mkdtemp(), train_distribute=strategy)
    tf.estimator.train_and_evaluate(
        tf.estimator.Estimator(model_fn, config=config),
        tf.estimator.TrainSpec(input_fn, max_steps=20),
        tf.estimator.EvalSpec(input_fn, steps=5),
    )


if __name__ == "__main__":
    main()
