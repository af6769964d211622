"""`table.assign(rows)`, whose value is used.

verdict: stays
says: table; the rows of a table are set by `import_rows`
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4])
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0)) + tf.reduce_mean(table.assign(tf.ones([20, 4])))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
