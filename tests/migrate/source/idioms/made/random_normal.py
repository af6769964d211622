"""`tf.Variable(tf.random_normal(…))`, `tf.truncated_normal(…)`.

verdict: exact
becomes: the initializer of the same distribution: `tf.random_normal_initializer(stddev=…)`
"""

import tensorflow.compat.v1 as tf


def build(pairs):
    user = tf.Variable(tf.random_normal([20, 4], stddev=0.5), name="user")
    item = tf.Variable(tf.truncated_normal([20, 4], mean=0.1, stddev=0.5), name="item")
    out = tf.nn.embedding_lookup(user, pairs[:, 0]) * tf.nn.embedding_lookup(item, pairs[:, 1])
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(out, axis=1) - 1.0))
    return out, loss, tf.train.AdamOptimizer(0.05).minimize(loss)
