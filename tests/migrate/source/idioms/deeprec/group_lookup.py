"""A group lookup of several EmbeddingVariables.

verdict: exact
bound: 0
becomes: `grouped_embedding_lookup_sparse`, with each one's own combiner
"""

import tensorflow.compat.v1 as tf


def build(sparse):
    option = tf.EmbeddingVariableOption(filter_option=tf.CounterFilter(filter_freq=2))
    first = tf.get_embedding_variable("first", 4, initializer=tf.random_normal_initializer(seed=3))
    second = tf.get_embedding_variable("second", 4, initializer=tf.ones_initializer(), ev_option=option)
    out = tf.nn.group_embedding_lookup_sparse([first, second], [sparse, sparse], ["sum", "mean"])
    loss = tf.reduce_mean(tf.square(out[0] - 2.0 * out[1]))
    return out[0] + out[1], loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
