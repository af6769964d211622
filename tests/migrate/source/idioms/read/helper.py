"""A table passed to a helper function of the same file.

verdict: exact
becomes: the lookup of the helper is rewritten when every caller passes a table that moves
"""

import tensorflow.compat.v1 as tf


def pooled(table, ids):
    return tf.reduce_mean(tf.nn.embedding_lookup(table, ids), axis=1)


def build(pairs):
    user = tf.get_variable("user", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    item = tf.get_variable("item", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    out = pooled(user, pairs[:, :2]) * pooled(item, pairs)
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(out, axis=1) - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
