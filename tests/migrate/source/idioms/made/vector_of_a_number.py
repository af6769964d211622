"""A vector whose shape is a number, `tf.Variable(tf.zeros(n))`.

verdict: exact
becomes: a table of width 1, where the number is a literal, or a name that means one
"""

import tensorflow.compat.v1 as tf


def build(ids, label):
    rows = 20
    item_b = tf.Variable(tf.zeros(rows), name="item_b")
    kernel = tf.get_variable("kernel", [rows, 4], initializer=tf.ones_initializer())
    out = tf.gather(item_b, ids[:6]) + tf.reduce_sum(tf.nn.embedding_lookup(kernel, ids[:6]), axis=1)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=out))
    return out, loss, tf.train.AdagradOptimizer(0.5).minimize(loss)
