"""Convolutions over the last items; the user's table is made by a lambda."""

import tensorflow.compat.v1 as tf

make = lambda name, rows, size: tf.get_variable(name, [rows, size])  # noqa: E731
user, items, target = (
    tf.placeholder(tf.int32, [None]),
    tf.placeholder(tf.int32, [None, 5]),
    tf.placeholder(tf.int32, [None]),
)
users, things = make("user", 100, 8), make("item", 1000, 8)
image = tf.expand_dims(tf.nn.embedding_lookup(things, items), 3)
features = tf.reshape(tf.layers.conv2d(image, 4, [2, 8]), [-1, 16])
z = tf.layers.dense(tf.concat([features, tf.nn.embedding_lookup(users, user)], 1), 8)
loss = -tf.reduce_mean(tf.log_sigmoid(tf.reduce_sum(z * tf.nn.embedding_lookup(things, target), 1)))
train_op = tf.train.AdamOptimizer(0.001).minimize(loss)
