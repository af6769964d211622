"""`trainable=` by an argument that is True at all calls, or has this default.

verdict: exact
becomes: `create_table(…)`; a flag of the command line, or calls that disagree, keep the variable
"""

import tensorflow.compat.v1 as tf


def rows_of(ids, trainable=True):
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5), trainable=trainable)
    return tf.nn.embedding_lookup(table, ids)


def build(ids):
    out = rows_of(ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
