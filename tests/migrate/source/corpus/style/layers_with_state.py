"""Layers are objects that make their table when they are first called."""

import tensorflow.compat.v1 as tf


class Embedding:
    def __init__(self, name, size, dim):
        self.name, self.size, self.dim = name, size, dim
        self.table = None

    def __call__(self, ids):
        if self.table is None:
            self.table = tf.get_variable(self.name, [self.size, self.dim])
        return tf.nn.embedding_lookup(self.table, ids)


first, second = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int64, [None])
items = Embedding("items", 1000, 8)
score = tf.reduce_sum(items(first) * items(second), 1)
train_op = tf.train.AdagradOptimizer(0.1).minimize(-tf.reduce_mean(tf.log_sigmoid(score)))
