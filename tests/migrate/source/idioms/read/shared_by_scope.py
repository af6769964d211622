"""One table by a scope that is entered again with `reuse`.

verdict: exact
becomes: one table; where the scope is entered again, the table of that name is read
"""

import tensorflow.compat.v1 as tf


def rows(ids):
    with tf.variable_scope("shared", reuse=tf.AUTO_REUSE):
        table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    return tf.nn.embedding_lookup(table, ids)


def build(pairs):
    out = rows(pairs[:, 0]) * rows(pairs[:, 1])
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(out, axis=1) - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
