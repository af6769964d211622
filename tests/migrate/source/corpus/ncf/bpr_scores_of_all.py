"""BPR that scores all items: it multiplies by the whole table."""

import tensorflow.compat.v1 as tf


class BPR:
    def __init__(self, users, items, factors):
        self.u, self.i, self.j = (tf.placeholder(tf.int32, [None]) for _ in range(3))
        self.user_factors = tf.get_variable("user", [users, factors])
        self.item_factors = tf.get_variable("item", [items, factors])
        self.build()

    def lookup(self, table, ids):
        return tf.nn.embedding_lookup(table, ids)

    def build(self):
        user = self.lookup(self.user_factors, self.u)
        difference = self.lookup(self.item_factors, self.i) - self.lookup(self.item_factors, self.j)
        self.loss = -tf.reduce_mean(tf.log_sigmoid(tf.reduce_sum(user * difference, 1)))
        self.train_op = tf.train.AdagradOptimizer(0.05).minimize(self.loss)
        self.scores = tf.matmul(user, self.item_factors, transpose_b=True)
