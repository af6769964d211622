"""`partitioner=` as an argument of `get_variable` or of a scope, lookups by `mod` (the default) or `div`.

verdict: exact
becomes: one table; the partitioner goes
"""

import tensorflow.compat.v1 as tf


def build(ids):
    with tf.variable_scope("user", partitioner=tf.fixed_size_partitioner(3)):
        user = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    item = tf.get_variable(
        "item",
        [20, 4],
        initializer=tf.random_normal_initializer(stddev=0.5),
        partitioner=tf.fixed_size_partitioner(2),
    )
    out = tf.nn.embedding_lookup(user, ids) * tf.nn.embedding_lookup(item, ids, partition_strategy="div")
    loss = tf.reduce_mean(tf.square(out - 0.5))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
