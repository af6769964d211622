"""`table.shape`, `table.get_shape()`.

verdict: exact
becomes: they stay, a table has the shape of its variable
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    out = tf.nn.embedding_lookup(table, ids)
    width = table.shape[1]
    out = tf.matmul(out, tf.get_variable("kernel", [width, 2]))
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
