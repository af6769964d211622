"""One table, several lookups (shared weights).

verdict: exact
becomes: one `create_table`, one `sparse_lookup` for each; their gradients meet in one update
"""

import tensorflow.compat.v1 as tf


def build(ids, pairs):
    item = tf.get_variable("item", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    target = tf.nn.embedding_lookup(item, ids[:6])
    history = tf.nn.embedding_lookup(item, pairs)
    out = target * tf.reduce_mean(history, axis=1)
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(out, axis=1) - 1.0))
    return out, loss, tf.train.AdamOptimizer(0.05).minimize(loss)
