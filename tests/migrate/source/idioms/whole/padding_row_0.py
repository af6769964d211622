"""A row of zeros in the place of row 0: `tf.concat((tf.zeros([1, D]), table[1:]), 0)`.

verdict: exact
becomes: `padded_lookup(zero_padded(table), ids)`: exact zeros, no gradient
"""

import tensorflow.compat.v1 as tf


def build(pairs):
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    ids = tf.maximum(pairs - 8, 0)
    padded = tf.concat((tf.zeros(shape=[1, 4]), table[1:, :]), 0)
    rows = tf.nn.embedding_lookup(padded, ids)
    mask = tf.sign(tf.reduce_sum(tf.abs(rows), axis=-1))
    out = tf.reduce_sum(rows, axis=1) + tf.reduce_sum(mask, axis=1, keepdims=True)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdamOptimizer(0.05).minimize(loss)
