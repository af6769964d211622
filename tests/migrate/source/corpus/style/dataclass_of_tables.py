"""Tables are fields of a dataclass that a factory fills."""

from dataclasses import dataclass

import tensorflow.compat.v1 as tf


@dataclass
class Tables:
    user: tf.Variable
    item: tf.Variable

    @classmethod
    def make(cls, users, items):
        return cls(user=tf.get_variable("user", [users, 8]), item=tf.get_variable("item", [items, 8]))


u, i = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int64, [None])
tables = Tables.make(100, 200)
score = tf.reduce_sum(tf.nn.embedding_lookup(tables.user, u) * tf.nn.embedding_lookup(tables.item, i), 1)
train_op = tf.train.GradientDescentOptimizer(0.1).minimize(-tf.reduce_mean(tf.log_sigmoid(score)))
