"""Trains a MetaGraph in a process of its own: `offline_run.py META CHECKPOINT|- STEPS SAVE_TO`; prints the losses."""

from __future__ import annotations

import json
import sys

import numpy as np
import tensorflow as tf

import runtime.native

v1 = tf.compat.v1


def main(meta: str, checkpoint: str, steps: str, target: str) -> None:
    """Import, initialize or restore, train, save."""
    runtime.native.ops()
    random = np.random.default_rng(5)
    with tf.Graph().as_default() as graph:
        saver = v1.train.import_meta_graph(meta)
        loss, step = graph.get_collection("losses")[0], graph.get_collection("train_op")[0]
        losses = []
        with v1.Session() as session:
            if checkpoint == "-":
                session.run(v1.global_variables_initializer())
                session.run(graph.get_collection("table_initializer"))
            else:
                saver.restore(session, checkpoint)
            assert not session.run(v1.report_uninitialized_variables()).size
            first = int(session.run(v1.train.get_global_step()))
            for number in range(first + int(steps)):
                ids = (60 * random.random((16, 3)) ** 3).astype(np.int64)
                feed = {"ids:0": ids, "labels:0": random.normal(size=(16, 1))}
                if number >= first:
                    losses.append(float(session.run([loss, step], feed)[0]))
            saver.save(session, target, write_meta_graph=False)
    print(json.dumps(losses))


if __name__ == "__main__":
    main(*sys.argv[1:])
