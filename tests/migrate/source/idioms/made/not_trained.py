"""`trainable=False`.

verdict: exact
becomes: `create_table(…, trainable=False)`, whose rows stay as they began
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4], trainable=False)
    out = tf.nn.embedding_lookup(table, ids) * tf.get_variable("kernel", [4])
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
