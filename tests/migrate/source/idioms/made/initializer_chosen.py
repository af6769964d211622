"""An initializer that a function or method chooses by a setting.

verdict: exact
becomes: the same expression, when every choice is made row by row; of Glorot's kind with the bound of the old shape
"""

import tensorflow.compat.v1 as tf


def initializer(method, value):
    if method == "uniform":
        return tf.random_uniform_initializer(-value, value)
    elif method == "normal":
        return tf.random_normal_initializer(stddev=value)
    else:
        return tf.glorot_normal_initializer()


def build(ids):
    with tf.variable_scope("net", initializer=initializer("normal", 0.5)):
        table = tf.get_variable("table", [20, 4])
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
