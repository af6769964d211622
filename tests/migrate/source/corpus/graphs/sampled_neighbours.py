"""Neighbours are sampled into ids; layers are objects that aggregate rows."""

import tensorflow.compat.v1 as tf


class Mean:
    def __init__(self, size, name):
        self.size, self.name = size, name

    def __call__(self, own, neighbours):
        pooled = tf.concat([own, tf.reduce_mean(neighbours, 1)], 1)
        return tf.layers.dense(pooled, self.size, tf.nn.relu, name=self.name)


nodes, neighbours, label = (
    tf.placeholder(tf.int64, [None]),
    tf.placeholder(tf.int64, [None, 5]),
    tf.placeholder(tf.float32, [None, 1]),
)
features = tf.get_variable("features", [10000, 16], initializer=tf.random_uniform_initializer(-0.1, 0.1))
aggregators = [Mean(16, "first")]
rows = tf.nn.embedding_lookup(features, nodes)
for one in aggregators:
    rows = one(rows, tf.nn.embedding_lookup(features, neighbours))
loss = tf.losses.sigmoid_cross_entropy(label, tf.layers.dense(rows, 1))
train_op = tf.train.AdamOptimizer(0.01).minimize(loss)
