"""A table of matrices, `[V, D, D]`.

verdict: stays
says: relation; its rank is 3
"""

import tensorflow.compat.v1 as tf


def build(ids):
    relation = tf.get_variable("relation", [20, 4, 4])
    out = tf.nn.embedding_lookup(relation, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
