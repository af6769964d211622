"""An initializer that is a pretrained matrix, or none.

verdict: exact
becomes: the same initializer: `create_table` takes a matrix, too; `or tf.glorot_uniform_initializer()` where it is None
"""

import os

import numpy as np
import tensorflow.compat.v1 as tf

MATRIX = np.random.RandomState(3).normal(size=(20, 4))


def build(ids):
    given = tf.constant_initializer(MATRIX) if "SCRATCH" not in os.environ else None
    table = tf.get_variable("table", [20, 4], initializer=given)
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
