"""`tf.nn.embedding_lookup_sparse(…, combiner="sum")`.

verdict: exact
becomes: `runtime.embedding_lookup_sparse`, with the same arguments
"""

import tensorflow.compat.v1 as tf


def build(sparse):
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    out = tf.nn.embedding_lookup_sparse(table, sparse, None, combiner="sum")
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
