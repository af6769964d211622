"""`max_norm=1.0`.

verdict: exact
becomes: `tf.clip_by_norm(…, 1.0, axes=-1)` of the rows
"""

import tensorflow.compat.v1 as tf


def build(pairs):
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer())
    out = tf.nn.embedding_lookup(table, pairs, max_norm=1.0)
    loss = tf.reduce_mean(tf.square(out - 0.2))
    return out, loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss)
