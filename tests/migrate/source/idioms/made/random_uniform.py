"""`tf.Variable(tf.random_uniform([V, D], a, b))`.

verdict: exact
becomes: `tf.random_uniform_initializer(a, b)`; bounds that are left out are written: 0 and 1
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.Variable(tf.random_uniform([20, 4], -0.5, 0.5), name="table")
    other = tf.Variable(tf.random_uniform([20, 4]), name="other")
    out = tf.nn.embedding_lookup(table, ids) - tf.nn.embedding_lookup(other, ids)
    loss = tf.reduce_mean(tf.square(out))
    return out, loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss)
