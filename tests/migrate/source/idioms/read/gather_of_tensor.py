"""`tf.gather`, `tf.gather_nd` of an ordinary tensor, such as a constant that gives the category of an item.

verdict: exact
becomes: the constant stays; what is read from it is the ids of the table
"""

import tensorflow.compat.v1 as tf


def build(ids):
    categories = tf.constant([i % 7 for i in range(20)], tf.int64)
    table = tf.get_variable("category", [7, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    out = tf.nn.embedding_lookup(table, tf.gather(categories, ids))
    loss = tf.reduce_mean(tf.square(tf.gather_nd(out, [[0], [1], [2]]) - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
