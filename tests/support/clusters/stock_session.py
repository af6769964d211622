"""One task of a stock program, `stock_session.py OUT`: a server, a session, variables where the setter puts them.

The first worker writes the loss of each step to OUT.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf


def batches(count: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return ids [24, 2] and labels [24] of each step."""
    draw = np.random.default_rng(3)
    ids = [draw.integers(0, 40, [24, 2]) for _ in range(count)]
    return [(one, (one.sum(1) % 2).astype(np.float32)) for one in ids]


def model(ids: Any, labels: Any) -> Any:
    """Return the mean loss of a layer over the rows of two tables."""
    user = tf.get_variable("session_user", [40, 4], initializer=tf.zeros_initializer())
    item = tf.get_variable("session_item", [40, 4], initializer=tf.constant_initializer(0.2))
    weights = tf.get_variable("weights", [8, 1], initializer=tf.random_normal_initializer(seed=3))
    rows = [tf.nn.embedding_lookup(user, ids[:, 0]), tf.nn.embedding_lookup(item, ids[:, 1])]
    return tf.reduce_mean(tf.square(tf.matmul(tf.concat(rows, 1), weights)[:, 0] - labels))


def main(out: str) -> None:
    """Run this task."""
    config = json.loads(os.environ["TF_CONFIG"])
    cluster, task = tf.train.ClusterSpec(config["cluster"]), config["task"]
    server = tf.train.Server(cluster, job_name=task["type"], task_index=task["index"])
    if task["type"] == "ps":
        server.join()
    setter = tf.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:0")
    with tf.Graph().as_default(), tf.device(setter):
        ids, labels = tf.placeholder(tf.int64, [None, 2]), tf.placeholder(tf.float32, [None])
        loss = model(ids, labels)
        step = tf.train.get_or_create_global_step()
        train = tf.train.AdagradOptimizer(0.1).minimize(loss, global_step=step)
        with tf.train.MonitoredTrainingSession(server.target, is_chief=True) as session:
            losses = [session.run([loss, train], {ids: one[0], labels: one[1]})[0] for one in batches(20)]
    Path(out).write_text(json.dumps([float(one) for one in losses]))


if __name__ == "__main__":
    main(sys.argv[1])
