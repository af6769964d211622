"""`tf.get_variable(name, [V, D])`, then a lookup.

verdict: exact
becomes: `create_table(…)` and `sparse_lookup(…)`; the number of rows is a hint for the capacity
"""

import tensorflow.compat.v1 as tf


def build(ids):
    with tf.variable_scope("user"):
        table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 0.5))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
