"""`trainable=False`, and a `var_list` that names the variable.

verdict: stays
says: table; TensorFlow trains a variable that is in a `var_list`
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4], trainable=False)
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss, var_list=[table])
