"""Whether two features share a table is an option."""

import tensorflow.compat.v1 as tf


def build(share=True):
    a, b = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int64, [None])
    first = tf.get_variable("first", [1000, 8])
    second = first if share else tf.get_variable("second", [1000, 8])
    score = tf.reduce_sum(tf.nn.embedding_lookup(first, a) * tf.nn.embedding_lookup(second, b), 1)
    return tf.train.AdamOptimizer(0.01).minimize(-tf.reduce_mean(tf.log_sigmoid(score)))


train_op = build()
