"""Zeros or a constant, mostly of a vector of biases `[V]`.

verdict: exact
becomes: a table of width 1; what is looked up is squeezed
"""

import tensorflow.compat.v1 as tf


def build(ids, label):
    item_b = tf.get_variable("item_b", [20], initializer=tf.constant_initializer(0.2))
    kernel = tf.get_variable("kernel", [20, 4], initializer=tf.zeros_initializer())
    first = tf.gather(item_b, ids[:6])
    out = first + tf.reduce_sum(tf.nn.embedding_lookup(kernel, ids[:6]), axis=1)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=out))
    return out, loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss)
