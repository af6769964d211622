"""`tf.train.Saver({"table": table})`.

verdict: stays
says: table; the checkpoint stores this variable by its name
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4])
    out = tf.nn.embedding_lookup(table, ids)
    saver = tf.train.Saver({"table": table})
    print(saver)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
