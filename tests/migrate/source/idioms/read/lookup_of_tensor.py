"""`tf.nn.embedding_lookup` of a computed tensor or of a constant matrix.

verdict: left alone
"""

import tensorflow.compat.v1 as tf


def build(ids):
    ratings = tf.constant([[float(i * j % 5) for j in range(4)] for i in range(20)])
    out = tf.nn.embedding_lookup(ratings, ids) * tf.get_variable("kernel", [4])
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
