"""L2 over `tf.trainable_variables()`.

verdict: exact
becomes: `l2_loss(v) for v in [*tf.trainable_variables(), *tables()]`
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    kernel = tf.get_variable("kernel", [4, 2], initializer=tf.random_normal_initializer(stddev=0.5))
    out = tf.matmul(tf.nn.embedding_lookup(table, ids), kernel)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    loss += 0.01 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])
    return out, loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss)
