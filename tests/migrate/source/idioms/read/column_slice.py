"""A lookup of some columns, `table[:, :k]`.

verdict: exact
becomes: `sparse_lookup(table, ids)[..., :k]`: rows and columns are taken apart from each other
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    out = tf.nn.embedding_lookup(table[:, :2], ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
