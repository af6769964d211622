"""`tf.gather(table, ids)` along the rows.

verdict: exact
becomes: `sparse_lookup(table, ids)`; of a vector `[V]`, squeezed
"""

import tensorflow.compat.v1 as tf


def build(pairs):
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    bias = tf.get_variable("bias", [20], initializer=tf.random_normal_initializer(stddev=0.5))
    out = tf.gather(table, pairs) * tf.gather(bias, pairs, axis=0)[:, :, None]
    loss = tf.reduce_mean(tf.square(out - 0.5))
    return out, loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss)
