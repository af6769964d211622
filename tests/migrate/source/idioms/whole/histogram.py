"""`tf.summary.histogram("table", table)`.

verdict: exact
becomes: `tf.summary.histogram("table", all_rows(table, V))`
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    out = tf.nn.embedding_lookup(table, ids)
    tf.summary.histogram("table", table)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
