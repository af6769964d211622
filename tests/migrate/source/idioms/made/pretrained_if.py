"""A matrix that is pretrained if a flag says so.

verdict: exact
becomes: `table_of_rows(rows=tf.constant(matrix, …))` in one branch, `create_table` in the other
"""

import os

import numpy as np
import tensorflow.compat.v1 as tf

MATRIX = np.random.RandomState(3).normal(size=(20, 4)).astype(np.float32)


def build(ids):
    if os.environ.get("PRETRAINED", "1") == "1":
        table = tf.get_variable("table", [20, 4], initializer=tf.constant_initializer(MATRIX))
    else:
        table = tf.get_variable("table", [20, 4])
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
