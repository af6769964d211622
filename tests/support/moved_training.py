"""A small model with two tables, trained by any optimizer, as it was and converted, from checkpoint to checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from migrate.report.writers import write
from migrate.source.driver.run import convert_paths, make_report
from migrate.source.settings.options import Options

MODEL = """
import tensorflow.compat.v1 as tf

def build_model():
    user = tf.placeholder(tf.int64, [None], name="user_ids")
    label = tf.placeholder(tf.float32, [None], name="label")
    with tf.variable_scope("tower"):
        table = tf.get_variable("user", [30, 4], initializer=tf.random_normal_initializer(stddev=0.5))
        bias = tf.get_variable("bias", [30], initializer=tf.random_uniform_initializer(-1, 1))
    kernel = tf.get_variable("kernel", [4, 1], initializer=tf.ones_initializer())
    rows = tf.nn.embedding_lookup(table, user)
    logit = tf.squeeze(tf.matmul(rows, kernel), 1) + tf.gather(bias, user)
    loss = tf.reduce_mean(tf.square(logit - label))
    train_op = tf.train.{optimizer}.minimize(loss, tf.train.get_or_create_global_step())
    return loss, train_op
"""
OPTIMIZERS = (
    "GradientDescentOptimizer(0.1)", "MomentumOptimizer(0.1, 0.9)", "AdagradOptimizer(0.1)", "AdamOptimizer(0.05)",
    "RMSPropOptimizer(0.01)", "RMSPropOptimizer(0.01, centered=True)", "FtrlOptimizer(0.1)", "AdadeltaOptimizer(0.5)",
)  # fmt: skip


def train(text: str, first: int, restore: str | None, save: str | None, rows: int = 30) -> list[float]:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        space: dict[str, Any] = {"__name__": "model"}
        exec(compile(text, "model.py", "exec"), space)
        loss, train_op = space["build_model"]()
        saver = tf.train.Saver()
        session.run(tf.global_variables_initializer())
        if restore:
            saver.restore(session, restore)
        losses = []
        for step in range(first, first + 4):
            random = np.random.RandomState(step)
            feed = {"user_ids:0": random.randint(rows, size=12), "label:0": random.rand(12)}
            losses.append(session.run([loss, train_op], feed)[0])
        if save:
            saver.save(session, save)
        return losses


def prepare(directory: Path, optimizer: str) -> tuple[str, str]:
    """Return the original and the converted text; the report is in `report.json`."""
    text = MODEL.replace("{optimizer}", optimizer)
    return text, convert(directory, text)


def convert(directory: Path, text: str) -> str:
    """Return the converted text; the report is in `report.json`."""
    (directory / "model.py").write_text(text)
    done = convert_paths([str(directory / "model.py")], Options())
    write(make_report("test", done, "", dry=False), str(directory / "report.json"))
    return str(done[0].result.converted)
