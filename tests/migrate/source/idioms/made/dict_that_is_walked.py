"""A dict of weights, and a loop over `weights.values()` that counts the parameters.

verdict: exact
becomes: a table, which has the shape of its variable: the count stays
"""

import tensorflow.compat.v1 as tf


def build(pairs):
    weights = {}
    weights["embeddings"] = tf.Variable(tf.random_normal([20, 4], stddev=0.5), name="embeddings")
    weights["layer"] = tf.Variable(tf.random_normal([4, 2]), name="layer")
    out = tf.matmul(tf.reduce_sum(tf.nn.embedding_lookup(weights["embeddings"], pairs), axis=1), weights["layer"])
    loss = tf.reduce_mean(tf.square(out - 1.0))
    train_op = tf.train.AdagradOptimizer(0.1).minimize(loss)
    count = 0
    for variable in weights.values():
        count += variable.get_shape().num_elements()
    print("parameters:", count)
    return out, loss, train_op
