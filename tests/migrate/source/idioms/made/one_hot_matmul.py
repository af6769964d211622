"""`tf.matmul(tf.one_hot(ids, V), table)`.

verdict: exact
becomes: `one_hot_lookup(table, ids, V)`; ids outside `[0, V)` give zeros
"""

import tensorflow.compat.v1 as tf


def build(ids, pairs):
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    hot = tf.one_hot(pairs, 20)
    out = tf.matmul(tf.one_hot(ids[:6] * 2 - 3, 20), table) + tf.reduce_sum(tf.tensordot(hot, table, 1), axis=1)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
