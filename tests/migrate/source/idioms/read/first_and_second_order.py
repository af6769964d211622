"""Tables of first order (width 1) and second order over the same ids, as in factorization machines.

verdict: exact
becomes: two tables; the ids are read by both
"""

import tensorflow.compat.v1 as tf


def build(pairs, label):
    first = tf.get_variable("first_order", [20, 1], initializer=tf.zeros_initializer())
    second = tf.get_variable("second_order", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    bias = tf.get_variable("bias", [], initializer=tf.zeros_initializer())
    linear = tf.reduce_sum(tf.nn.embedding_lookup(first, pairs), axis=[1, 2])
    rows = tf.nn.embedding_lookup(second, pairs)
    squared = tf.square(tf.reduce_sum(rows, axis=1)) - tf.reduce_sum(tf.square(rows), axis=1)
    out = bias + linear + 0.5 * tf.reduce_sum(squared, axis=1)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=out))
    return out, loss, tf.train.AdamOptimizer(0.05).minimize(loss)
