"""`table / norm` and a lookup in the result, to show the nearest rows, as word2vec does.

verdict: exact
becomes: `all_rows(table, V) / norm`; the normalized rows are a tensor as before
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    out = tf.nn.embedding_lookup(table, ids)
    norm = tf.sqrt(tf.reduce_sum(tf.square(table), 1, keepdims=True))
    normalized = table / norm
    some = tf.nn.embedding_lookup(normalized, tf.constant([3, 1], tf.int64))
    tf.summary.histogram("similarity", tf.matmul(some, normalized, transpose_b=True))
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
