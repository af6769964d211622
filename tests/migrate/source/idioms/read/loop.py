"""A lookup in a loop.

verdict: exact
becomes: the loop stays, the table stays outside of it
"""

import tensorflow.compat.v1 as tf


def build(pairs):
    entity = tf.get_variable("entity", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    hops = []
    for hop in range(3):
        hops.append(tf.nn.embedding_lookup(entity, pairs[:, hop]))
    out = tf.stack(hops, axis=1)
    loss = tf.reduce_mean(tf.square(tf.reduce_prod(out + 1.0, axis=1) - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.1).minimize(loss)
