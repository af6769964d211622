"""`tf.gather(table, ids, axis=1)`.

verdict: stays
says: table; only a gather along axis 0 reads rows
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4])
    out = tf.nn.embedding_lookup(table, ids) + tf.reduce_sum(tf.gather(table, [0, 2], axis=1))
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
