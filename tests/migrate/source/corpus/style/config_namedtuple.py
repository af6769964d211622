"""Sizes come from a named tuple; the trainer holds the optimizer in a property."""

import collections

import tensorflow.compat.v1 as tf

Config = collections.namedtuple("Config", "items size rate")


class Trainer:
    def __init__(self, config):
        self.config = config

    @property
    def optimizer(self):
        return tf.train.AdamOptimizer(self.config.rate)

    def train(self, loss):
        return self.optimizer.minimize(loss)


config = Config(items=1000, size=8, rate=0.1)
ids = tf.placeholder(tf.int64, [None])
table = tf.get_variable("items", [config.items, config.size])
loss = tf.reduce_sum(tf.layers.dense(tf.nn.embedding_lookup(table, ids), 1))
train_op = Trainer(config).train(loss)
