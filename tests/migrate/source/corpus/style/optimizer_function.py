"""A function gives an optimizer by its name."""

import tensorflow.compat.v1 as tf


def get_optimizer(name, rate):
    if name == "adam":
        return tf.train.AdamOptimizer(rate)
    if name == "adagrad":
        return tf.train.AdagradOptimizer(rate)
    raise ValueError(name)


def build(name, rate=0.1):
    ids = tf.placeholder(tf.int64, [None])
    table = tf.get_variable("items", [1000, 8])
    loss = tf.reduce_sum(tf.layers.dense(tf.nn.embedding_lookup(table, ids), 1))
    optimizer = get_optimizer(name, rate)
    return optimizer.minimize(loss)


train_op = build("adam")
