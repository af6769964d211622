"""`trainable=` by a flag that is known at run time.

verdict: exact
becomes: `create_table(…, trainable=…)`, with the same expression; the step trains the tables that are trainable
"""

import os

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4], trainable="TUNE" in os.environ)
    out = tf.nn.embedding_lookup(table, ids) * tf.get_variable("kernel", [4])
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
