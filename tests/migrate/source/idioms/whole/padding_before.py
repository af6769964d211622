"""A row of zeros in front: `tf.concat([tf.zeros([1, D]), table], 0)`.

verdict: exact
becomes: `padded_lookup(zero_padded(table, "before"), ids)`; id i reads row i - 1
"""

import tensorflow.compat.v1 as tf


def build(pairs):
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    ids = tf.maximum(pairs - 8, 0)
    padded = tf.concat([tf.zeros([1, 4]), table], axis=0)
    out = tf.nn.embedding_lookup(padded, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
