"""Glorot's (Xavier's) initializer by name.

verdict: exact
becomes: the same law with the bound of the old shape written out
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4], initializer=tf.glorot_normal_initializer())
    bias = tf.get_variable("bias", [20], initializer=tf.glorot_uniform_initializer())
    out = tf.nn.embedding_lookup(table, ids) + tf.gather(bias, ids)[:, None]
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
