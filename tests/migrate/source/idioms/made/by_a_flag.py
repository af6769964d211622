"""One name bound to different tables by `if` and `elif`.

verdict: exact
becomes: each branch makes its own table, and the lookup reads the one that was made
"""

import tensorflow.compat.v1 as tf


def build(ids, kind="plain"):
    if kind == "plain":
        table = tf.get_variable("table", [20, 4])
    elif kind == "hashed":
        table = tf.get_variable("hashed", [10, 4])
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
