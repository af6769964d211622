"""A table in a list of its own, `params.append(table)`.

verdict: exact
becomes: the list stays where nothing needs its members' values
"""

import tensorflow.compat.v1 as tf


def build(ids):
    params = []
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    params.append(table)
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
