"""A table that is transformed before the lookup, by a dense layer or along a graph.

verdict: assumed
becomes: `all_rows(table, V, trainable=True)` is transformed, a lookup of all ids in each step
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4])
    plain = tf.nn.embedding_lookup(table, ids)
    moved = tf.tanh(tf.matmul(table, tf.get_variable("kernel", [4, 4])))
    out = plain + tf.nn.embedding_lookup(moved, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
