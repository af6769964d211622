"""A group lookup of several EmbeddingVariables.

verdict: stays
says: ; `group_embedding_lookup_sparse` makes or reads a group lookup
"""

import tensorflow.compat.v1 as tf


def build(sparse):
    first = tf.get_embedding_variable("first", embedding_dim=4)
    second = tf.get_embedding_variable("second", embedding_dim=4)
    out = tf.nn.group_embedding_lookup_sparse([first, second], [sparse, sparse], ["sum", "mean"])
    loss = tf.reduce_mean(tf.square(out[0] - out[1]))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
