"""The programs for Rec SDK that tests run, and what stock TensorFlow computes for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

PROGRAM = Path(__file__).with_name("mx_rec_demo.py")

ESTIMATOR = Path(__file__).with_name("mx_rec_estimator_demo.py")

v1 = tf.compat.v1


def samples_of_the_demo() -> dict[str, Any]:
    random = np.random.RandomState(3)
    users, items = random.randint(20, size=(40, 3)), random.randint(10, size=(40, 2))
    return {"user": users, "item": items, "label": random.rand(40).astype(np.float32)}


def stock_losses(multi: bool) -> list[float]:
    """The losses of the same model and data with variables of TensorFlow."""
    samples = samples_of_the_demo()
    evaluated = {key: value[::-1][:16] for key, value in samples.items()}
    with tf.Graph().as_default(), v1.Session() as session:
        batch = {
            name: v1.placeholder(tf.int64 if name != "label" else tf.float32, [8, *value.shape[1:]])
            for name, value in samples.items()
        }
        tables = {
            name: v1.get_variable(name, [20, dim], initializer=v1.constant_initializer(0.3))
            for name, dim in (("user", 4), ("item", 2))
        }
        kernel = v1.get_variable("kernel", [6, 1], initializer=v1.constant_initializer(0.2))
        found = [tf.reduce_sum(tf.nn.embedding_lookup(tables[name], batch[name]), 1) for name in tables]
        found[0] *= 2.0 if multi else 1.0
        loss = tf.reduce_mean((tf.squeeze(tf.matmul(tf.concat(found, 1), kernel), 1) - batch["label"]) ** 2)
        train = [
            v1.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=[kernel]),
            v1.train.AdagradOptimizer(0.1, 0.1).minimize(loss, var_list=list(tables.values())),
        ]
        session.run(v1.global_variables_initializer())

        def losses(rows: dict[str, Any], fetches: list[Any]) -> list[float]:
            feeds = (
                {batch[name]: value[start : start + 8] for name, value in rows.items()}
                for start in range(0, len(rows["label"]), 8)
            )
            return [float(session.run(fetches, feed)[0]) for feed in feeds]

        return losses(samples, [loss, *train]) + losses(evaluated, [loss])


def losses_of(printed: str) -> list[float]:
    return [float(line.split()[1]) for line in printed.splitlines() if line.startswith("loss ")]


def stock_estimator() -> tuple[list[float], list[float]]:
    """The losses of the Estimator's model, the last one of evaluation, and what it predicts."""
    random = np.random.RandomState(3)
    ids, labels = random.randint(9, size=(32, 3)), random.rand(32).astype(np.float32)
    with tf.Graph().as_default(), v1.Session() as session:
        keys, wanted = v1.placeholder(tf.int64, [None, 3]), v1.placeholder(tf.float32, [None])
        table = v1.get_variable("user", [9, 4], initializer=v1.constant_initializer(0.3))
        kernel = v1.get_variable("kernel", [4, 1], initializer=v1.constant_initializer(0.2))
        out = tf.squeeze(tf.matmul(tf.reduce_sum(tf.nn.embedding_lookup(table, keys), 1), kernel), 1)
        loss = tf.reduce_mean((out - wanted) ** 2)
        train = v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        session.run(v1.global_variables_initializer())
        feeds = [{keys: ids[at : at + 8], wanted: labels[at : at + 8]} for at in range(0, 32, 8)]
        losses = [session.run([loss, train], feed)[0] for feed in feeds]
        predicted = session.run([loss, out], {keys: ids, wanted: labels})
        return [*losses, predicted[0]], predicted[1].tolist()
