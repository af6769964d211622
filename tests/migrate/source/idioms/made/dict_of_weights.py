"""A dict of weights, `weights["embeddings"] = tf.Variable(…)`, of which some are looked up.

verdict: exact
becomes: the entries that are looked up are tables, the others stay variables
"""

import tensorflow.compat.v1 as tf


def build(pairs):
    weights = {}
    weights["embeddings"] = tf.Variable(tf.random_normal([20, 4], stddev=0.5), name="embeddings")
    weights["bias"] = tf.Variable(tf.random_uniform([20, 1], -0.5, 0.5), name="bias")
    weights["layer"] = tf.Variable(tf.random_normal([4, 2]), name="layer")
    rows = tf.nn.embedding_lookup(weights["embeddings"], pairs)
    first = tf.nn.embedding_lookup(weights["bias"], pairs)
    out = tf.matmul(tf.reduce_sum(rows, axis=1), weights["layer"]) + tf.reduce_sum(first, axis=1)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.1).minimize(loss)
