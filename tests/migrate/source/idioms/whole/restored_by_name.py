"""Tables that are restored by name, `tf.train.Saver([v for v in tf.global_variables() if …])`.

verdict: stays
says: ; uses all variables (tables are not in this list
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4])
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    train_op = tf.train.AdagradOptimizer(0.3).minimize(loss)
    saver = tf.train.Saver([v for v in tf.global_variables() if "table" in v.name])
    print(saver)
    return out, loss, train_op
