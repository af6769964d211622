"""One rank of a stock program over Horovod, `hooked_worker.py OUT`: as it is, then with tables by `install()`.

It writes to OUT-<rank>.npz the losses and all rows of each, and why a variable stays that a hook broadcasts.
"""

from __future__ import annotations

import sys
from typing import Any

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

from rewriter import install

v1 = tf.compat.v1
_ROWS, _STEPS = 50, 12


def _train(hooks: list[Any], name: str) -> tuple[list[float], np.ndarray]:
    with tf.Graph().as_default():
        ids, labels = v1.placeholder(tf.int64, [None]), v1.placeholder(tf.float32, [None])
        normal = v1.random_normal_initializer(stddev=0.1, seed=3)
        table = v1.get_variable(name, [_ROWS, 4], initializer=normal)
        kernel = v1.get_variable("kernel", [4, 1], initializer=v1.constant_initializer(0.3))
        scores = tf.squeeze(tf.matmul(v1.nn.embedding_lookup(table, ids), kernel), 1)
        loss = tf.reduce_mean(tf.square(scores - labels))
        train = hvd.DistributedOptimizer(v1.train.AdamOptimizer(0.05)).minimize(loss)
        rows = v1.nn.embedding_lookup(table, tf.range(_ROWS))
        draw = np.random.default_rng(hvd.rank())
        with v1.train.MonitoredTrainingSession(hooks=hooks) as session:
            losses = []
            for _ in range(_STEPS):
                batch = draw.integers(0, _ROWS, 16)
                losses.append(session.run([loss, train], {ids: batch, labels: batch % 3})[0])
            values: np.ndarray = session._tf_sess().run(rows, {ids: batch, labels: batch % 3})
        return losses, values


def main(out: str) -> None:
    """Run this rank."""
    hvd.init()
    stock = _train([], "alike")
    installation = install()
    moved, tables = _train([], "alike"), list(installation.tables)
    _train([hvd.BroadcastGlobalVariablesHook(0)], "broadcast")
    stays = [refusal.reason for refusal in installation.stay.values()]
    installation.remove()
    np.savez(f"{out}-{hvd.rank()}.npz", *stock, *moved, tables=tables, stays=stays)


if __name__ == "__main__":
    v1.disable_eager_execution()
    main(sys.argv[1])
