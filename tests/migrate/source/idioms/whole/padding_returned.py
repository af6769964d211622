"""Rows of zeros that a helper puts before a table if it is asked to, and a table that it returns.

verdict: exact
becomes: `zero_padded(table)`, a value of its own; `padded_lookup` reads zeros for id 0 of it
"""

import tensorflow.compat.v1 as tf


def embedding(ids, name, zero_pad):
    with tf.variable_scope(name):
        table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    if zero_pad:
        table = tf.concat((tf.zeros(shape=[1, 4]), table[1:, :]), 0)
    return tf.nn.embedding_lookup(table, ids), table


def build(pairs):
    ids = tf.maximum(pairs - 8, 0)
    rows, items = embedding(ids, "items", zero_pad=True)
    places, _ = embedding(ids, "places", zero_pad=False)
    out = tf.reduce_sum(rows * 2.0 + places, axis=1) + tf.reduce_sum(tf.nn.embedding_lookup(items, ids), axis=1)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdamOptimizer(0.05).minimize(loss)
