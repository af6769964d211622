"""`tf.nn.sampled_softmax_loss(weights=table)`, `tf.nn.nce_loss`.

verdict: stays
says: item; the loss gathers rows of the whole matrix by itself
"""

import tensorflow.compat.v1 as tf


def build(ids, pairs):
    item = tf.get_variable("item", [20, 4])
    bias = tf.get_variable("bias", [20], initializer=tf.zeros_initializer())
    out = tf.reduce_mean(tf.nn.embedding_lookup(item, pairs), axis=1)
    labels = tf.reshape(ids[:6], [-1, 1])
    loss = tf.reduce_mean(tf.nn.sampled_softmax_loss(item, bias, labels, out, num_sampled=4, num_classes=20))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
