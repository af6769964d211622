"""`tf.nn.embedding_lookup(self.table, ids)`, made in one method and read in another.

verdict: exact
becomes: the attribute holds the table
"""

import tensorflow.compat.v1 as tf


class Model:
    def __init__(self):
        self.user = tf.get_variable("user", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
        self.bias = tf.get_variable("bias", [20], initializer=tf.zeros_initializer())

    def score(self, ids):
        return tf.nn.embedding_lookup(self.user, ids) + tf.gather(self.bias, ids)[:, None]


def build(ids):
    out = Model().score(ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
