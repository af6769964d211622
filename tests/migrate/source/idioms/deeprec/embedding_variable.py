"""`tf.get_embedding_variable(…)` and a lookup.

verdict: exact
bound: 0
becomes: `create_counted_table(…)` and `sparse_lookup(…)`; the training step stays
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_embedding_variable("table", embedding_dim=4, initializer=tf.random_normal_initializer(seed=3))
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
