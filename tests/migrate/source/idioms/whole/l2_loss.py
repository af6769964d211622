"""`tf.nn.l2_loss(table)`, `tf.reduce_sum(tf.square(table))`, a norm.

verdict: exact
becomes: `l2_loss(table)`, over all rows
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    loss += 0.01 * tf.nn.l2_loss(table) + 0.01 * tf.reduce_sum(tf.square(table))
    return out, loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss)
