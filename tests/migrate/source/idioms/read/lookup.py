"""`tf.nn.embedding_lookup(local, ids)`.

verdict: exact
becomes: `sparse_lookup(table, ids)`; the result has the shape of the ids and one axis more
"""

import tensorflow.compat.v1 as tf


def build(pairs):
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    out = tf.nn.embedding_lookup(table, pairs)
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(out, axis=1) - 1.0))
    return out, loss, tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
