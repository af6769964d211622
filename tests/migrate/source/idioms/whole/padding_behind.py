"""A row of zeros behind the last, `tf.concat([table, zeros], 0)`; the id of padding is V.

verdict: exact
becomes: `padded_lookup(zero_padded(table, "last"), ids)`
"""

import tensorflow.compat.v1 as tf


def build(pairs):
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    ids = tf.minimum(pairs + 8, 20)
    padded = tf.concat([table, tf.zeros([1, 4])], 0)
    out = tf.nn.embedding_lookup(padded, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss)
