"""`tf.Variable(init([V, D]))` with an initializer object that is called.

verdict: exact
becomes: the object itself is the table's initializer
"""

import tensorflow.compat.v1 as tf


def build(ids):
    initializer = tf.random_uniform_initializer(-0.5, 0.5)
    table = tf.Variable(initializer([20, 4]), name="table")
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss)
