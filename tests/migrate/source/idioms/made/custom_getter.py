"""A scope with a `custom_getter`, as for storage in float16.

verdict: stays
says: ; `custom_getter` of a variable scope acts on every variable created inside
"""

import tensorflow.compat.v1 as tf


def half(getter, name, shape, dtype=None, **rest):
    return tf.cast(getter(name, shape, dtype=tf.float16, **rest), tf.float32)


def build(ids):
    with tf.variable_scope("user", custom_getter=half):
        table = tf.get_variable("table", [20, 4])
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
