"""`trainable=` by a flag that is known at run time.

verdict: stays
says: table; whether it is trainable is decided at run time
"""

import tensorflow.compat.v1 as tf


def build(ids, tune):
    table = tf.get_variable("table", [20, 4], trainable=tune)
    out = tf.nn.embedding_lookup(table, ids) * tf.get_variable("kernel", [4])
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
