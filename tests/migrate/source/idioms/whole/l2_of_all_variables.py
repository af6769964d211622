"""L2 over `tf.trainable_variables()`.

verdict: changes values
becomes: it stays, and no longer covers the tables
compare: outputs; the loss is smaller by the rows' share
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    kernel = tf.get_variable("kernel", [4, 2], initializer=tf.random_normal_initializer(stddev=0.5))
    out = tf.matmul(tf.nn.embedding_lookup(table, ids), kernel)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    loss += 0.01 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])
    return out, loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss)
