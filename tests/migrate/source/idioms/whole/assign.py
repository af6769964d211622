"""`table.assign(pretrained)`.

verdict: stays
says: table; rows of a table are written by import
"""

import tensorflow.compat.v1 as tf


def build(ids, matrix):
    table = tf.get_variable("table", [20, 4])
    load = table.assign(matrix)
    with tf.control_dependencies([load]):
        out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
