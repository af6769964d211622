"""`tf.get_embedding_variable(…)`, a hash table of another SDK already.

verdict: stays
says: ; an EmbeddingVariable is not converted yet
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_embedding_variable("table", embedding_dim=4)
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
