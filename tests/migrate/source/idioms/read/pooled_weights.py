"""`tf.nn.embedding_lookup_sparse` with `sp_weights`.

verdict: exact
becomes: the weights multiply the rows before they are summed
"""

import tensorflow.compat.v1 as tf


def build(sparse, weights):
    first = tf.get_variable("first", [20, 1], initializer=tf.random_normal_initializer(stddev=0.5))
    second = tf.get_variable("second", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    out = tf.nn.embedding_lookup_sparse(first, sparse, weights, combiner="sum")
    out += tf.nn.embedding_lookup_sparse(second, sparse, weights, combiner="mean")
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
