"""A table returned by a helper of another module.

verdict: exact
becomes: both files are judged and converted together; alone, the file with the lookups stays as it is
"""

import tensorflow.compat.v1 as tf
from layers import embedding


def build(pairs):
    rows, table = embedding(pairs, 20, 4)
    last = tf.nn.embedding_lookup(table, pairs[:, 2])
    out = tf.reduce_sum(rows, axis=1) * last
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(out, axis=1) - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
