"""`tf.unique`, a lookup of the distinct ids, `tf.gather` by their places.

verdict: exact
becomes: the lookup is a `sparse_lookup`; the rest stays
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    distinct, place = tf.unique(ids)
    out = tf.gather(tf.nn.embedding_lookup(table, distinct), place)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
