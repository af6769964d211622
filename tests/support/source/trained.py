"""A model of two tables, trained as it is and converted: its losses by both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow").compat.v1

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


def batches(count: int, users: int = 50, items: int = 40) -> list[tuple[Any, Any, Any]]:
    """Return seeded batches in which ids repeat."""
    random = np.random.RandomState(3)
    return [
        (
            random.randint(users, size=(16, 2)),
            random.randint(items, size=16),
            random.randint(2, size=16).astype(np.float32),
        )
        for _ in range(count)
    ]


def losses(text: str, tables: dict[str, str], start: dict[str, Any] | None) -> tuple[list[float], dict[str, Any], int]:
    """Train five steps; return the losses, the initial values by variable name, and the global step.

    `start` gives the initial values; `tables` says which variable's values are the rows of which table.
    """
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        space: dict[str, Any] = {"__name__": "model"}
        exec(compile(text, "model.py", "exec"), space)
        built = space["build_model"]()
        session.run(tf.global_variables_initializer())
        if start is not None:
            load(session, tables, start)
        values = session.run({v.op.name: v for v in tf.trainable_variables()})
        found = []
        for user, item, label in batches(5):
            feed = {built["user"]: user, built["item"]: item, built["label"]: label}
            found.append(session.run([built["loss"], built["train_op"]], feed)[0])
        return found, values, int(session.run(built["step"]))


def load(session: Any, tables: dict[str, str], start: dict[str, Any]) -> None:
    """Write the same initial values into variables and tables."""
    from runtime.table.create import tables as tables_of_graph

    for variable in tf.trainable_variables():
        variable.load(start[variable.op.name], session)
    made = {table.table_name: table for table in tables_of_graph()}
    assert set(made) == set(tables)
    for name, source in tables.items():
        rows = start[source].reshape(len(start[source]), -1)
        session.run(made[name].import_rows(np.arange(len(rows), dtype=np.int64), rows))
