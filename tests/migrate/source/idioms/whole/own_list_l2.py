"""A table in a list of its own, and L2 over the members of the list.

verdict: exact
becomes: the loop takes `l2_loss(param)`
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    kernel = tf.get_variable("kernel", [4, 2], initializer=tf.random_normal_initializer(stddev=0.5))
    out = tf.matmul(tf.nn.embedding_lookup(table, ids), kernel)
    params = [table, kernel]
    loss = tf.reduce_mean(tf.square(out - 1.0))
    for param in params:
        loss += 0.01 * tf.nn.l2_loss(param)
    return out, loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss)
