"""`tf.multiply(user, table)`, `+ bias_table`, tiling or expanding a table.

verdict: assumed
becomes: `all_rows(bias_table, V, trainable=True)[:, 0]`, a lookup of all ids in each step
"""

import tensorflow.compat.v1 as tf


def build(ids):
    item_b = tf.get_variable("item_b", [20], initializer=tf.zeros_initializer())
    out = tf.gather(item_b, ids)
    everything = out[:, None] + tf.expand_dims(item_b, 0)
    loss = tf.reduce_mean(tf.square(everything - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
