"""A model of two tables, trained as it is and converted: its losses by both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.support.source.whole_training import Side

MODEL = """
import tensorflow.compat.v1 as tf

def build_model():
    user = tf.placeholder(tf.int64, [None, 2])
    item = tf.placeholder(tf.int32, [None])
    label = tf.placeholder(tf.float32, [None])
    weights = dict()
    weights["user"] = tf.Variable(tf.random_normal([50, 4], stddev=0.5, seed=1), name="user")
    with tf.variable_scope("item"):
        item_table = tf.get_variable("table", [40, 4])
        item_bias = tf.get_variable("bias", [40], initializer=tf.random_uniform_initializer(-1, 1))
    u = tf.nn.embedding_lookup(weights["user"], user)
    i = tf.nn.embedding_lookup(item_table, item)
    kernel = tf.get_variable("kernel", [4, 4], initializer=tf.random_normal_initializer())
    first = tf.gather(params=weights["user"], indices=user[:, 0])
    logit = tf.reduce_sum(tf.reduce_sum(u, axis=1) * tf.matmul(i, kernel), axis=1) + tf.gather(item_bias, item)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=logit))
    loss += tf.reduce_mean(first ** 2)
    step = tf.train.get_or_create_global_step()
{training}
    return {{"user": user, "item": item, "label": label, "loss": loss, "train_op": train_op, "step": step}}
"""

SGD = "tf.train.GradientDescentOptimizer(0.5)"


def model(training: str, text: str = MODEL) -> str:
    """Return the model with that training code."""
    return (
        text.replace("{training}", "\n".join("    " + line for line in training.splitlines()))
        .replace("{{", "{")
        .replace("}}", "}")
    )


def batches(count: int, users: int = 50, items: int = 40) -> list[dict[str, Any]]:
    """Return seeded batches in which ids repeat."""
    random = np.random.RandomState(3)
    return [
        {
            "user": random.randint(users, size=(16, 2)),
            "item": random.randint(items, size=16),
            "label": random.randint(2, size=16).astype(np.float32),
        }
        for _ in range(count)
    ]


def losses(side: Side) -> list[float]:
    """Train five steps and return their losses."""
    side.train(batches(5))
    assert int(side.session.run(side.built["step"])) == 5
    return side.losses


def same_losses(text: str, changed: str, tables: Mapping[str, str], rtol: float = 1e-5) -> list[float]:
    """Train a program, and what became of it, from the same values; its losses move, and are the same.

    `tables` says for each table which variable's values are its rows.
    """
    original, converted = Side(text, {}), Side(changed, tables)
    converted.start_as(original)
    want = losses(original)
    assert len(set(np.round(want, 4))) == len(want), "the losses must move, or the comparison says nothing"
    np.testing.assert_allclose(losses(converted), want, rtol=rtol)
    return want
