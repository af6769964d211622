"""A helper passes its keywords on to `get_variable`."""

import tensorflow.compat.v1 as tf


def rows(ids, name, size, **kwargs):
    table = tf.get_variable(name, **dict(kwargs, shape=[size, 8]))
    return tf.nn.embedding_lookup(table, ids)


ids = tf.placeholder(tf.int64, [None])
x = rows(ids, "items", 1000, initializer=tf.zeros_initializer(), trainable=True)
train_op = tf.train.AdamOptimizer().minimize(tf.reduce_sum(tf.layers.dense(x, 1)))
