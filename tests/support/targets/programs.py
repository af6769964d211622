"""Whole programs with a dataset, a model and a session of each kind; each leaves its losses in `losses`."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any
from unittest import mock

import tensorflow as tensorflow

HEAD = """import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
losses = []


def input_fn():
    random = np.random.RandomState(3)
    features = {"ids": random.randint(20, size=(40, 3)).astype(np.int32), "x": random.rand(40, 4).astype(np.float32)}
    labels = random.rand(40).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices((features, labels)).batch(8).prefetch(1)


def network(features, labels):
    W = tf.get_variable("user", [20, 4], initializer=tf.constant_initializer(0.3))
    b = tf.get_variable("bias", [20], initializer=tf.zeros_initializer())
    kernel = tf.get_variable("kernel", [8, 1], initializer=tf.random_normal_initializer(seed=6))
    rows = tf.reduce_sum(tf.nn.embedding_lookup(W, features["ids"]), 1)
    out = tf.squeeze(tf.matmul(tf.concat([tf.tanh(rows), features["x"]], 1), kernel), 1)
    out += tf.reduce_sum(tf.gather(b, features["ids"]), 1) + tf.reduce_mean(tf.gather(W, features["ids"]), [1, 2])
    return tf.reduce_mean((out - labels) ** 2)

"""
STEP = "train_op = {optimizer}.minimize(loss, tf.train.get_or_create_global_step())"
#: How training goes on: in a plain session, and at the end of `main` in one with hooks.
IN_SESSION = """    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(iterator.initializer)
        try:
            while True:
                losses.append(sess.run([loss, train_op])[0])
        except tf.errors.OutOfRangeError:
            pass
"""
IN_MONITORED = """    with tf.train.MonitoredTrainingSession() as sess:
        while not sess.should_stop():
            losses.append(sess.run([loss, train_op])[0])


if __name__ == "__main__":
    main()
"""
SESSION = (
    HEAD
    + """
if __name__ == "__main__":
    iterator = tf.data.make_initializable_iterator(input_fn())
    features, labels = iterator.get_next()
    loss = network(features, labels)
    {step}
"""
    + IN_SESSION
)
MONITORED = (
    HEAD
    + """
def main():
    features, labels = tf.data.make_one_shot_iterator(input_fn()).get_next()
    loss = network(features, labels)
    {step}
"""
    + IN_MONITORED
)
ESTIMATOR = (
    HEAD
    + """
class Keep(tf.train.SessionRunHook):
    def before_run(self, context):
        return tf.train.SessionRunArgs("loss:0")

    def after_run(self, context, values):
        losses.append(values.results)


def model_fn(features, labels, mode):
    loss = tf.identity(network(features, labels), name="loss")
    {step}
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


tf.estimator.Estimator(model_fn).train(input_fn, hooks=[Keep()])
"""
)
CLIPPED = """optimizer = {optimizer}
    grads, variables = zip(*optimizer.compute_gradients(loss))
    grads, _ = tf.clip_by_global_norm(grads, 0.5)
    train_op = optimizer.apply_gradients(zip(grads, variables), tf.train.get_or_create_global_step())"""
GRADIENTS = """optimizer = {optimizer}
    variables = tf.trainable_variables()
    grads = tf.gradients(loss, variables)
    train_op = optimizer.apply_gradients(zip(grads, variables), tf.train.get_or_create_global_step())"""


def program(kind: str, optimizer: str = "tf.train.AdagradOptimizer(0.3)", step: str = STEP) -> str:
    """Return a program of one of the kinds above."""
    return kind.replace("{step}", step.replace("{optimizer}", optimizer))


def run_program(text: str, directory: Path) -> list[float]:
    """Run a program as a script and return its losses.

    Its call to switch eager execution off does nothing: a graph is open, and the process, where other tests run, would
    keep the mode in every new thread.
    """
    path = directory / "program.py"
    path.write_text(text)
    v1 = tensorflow.compat.v1
    with mock.patch.object(v1, "disable_eager_execution", lambda: None), v1.Graph().as_default():
        space: dict[str, Any] = runpy.run_path(str(path), run_name="__main__")
    return [float(loss) for loss in space["losses"]]
