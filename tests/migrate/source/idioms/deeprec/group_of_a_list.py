"""A group lookup of a list that is made elsewhere.

verdict: stays
says: ; the tables of a group lookup, `tables`, cannot be read
"""

import tensorflow.compat.v1 as tf


def build(sparse):
    tables = [tf.get_embedding_variable(name, embedding_dim=4) for name in ("first", "second")]
    out = tf.nn.group_embedding_lookup_sparse(tables, [sparse, sparse], ["sum", "mean"])
    loss = tf.reduce_mean(tf.square(out[0] - out[1]))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
