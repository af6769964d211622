"""A dense layer over one-hot ids: its kernel is a table.

verdict: suggested
says: ; its kernel [ids, units] is a table
"""

import tensorflow.compat.v1 as tf


def build(ids):
    out = tf.layers.dense(tf.one_hot(ids, 20), 4)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
