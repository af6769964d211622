"""Adversarial training that adds noise to the whole table."""

import tensorflow.compat.v1 as tf

ids = tf.placeholder(tf.int64, [None])
table = tf.get_variable("items", [1000, 8])
noise = tf.Variable(tf.zeros([1000, 8]), trainable=False, name="noise")
rows = tf.nn.embedding_lookup(table, ids)
loss = tf.reduce_sum(tf.layers.dense(rows, 1))
noised = tf.nn.embedding_lookup(table + noise, ids)
loss += tf.reduce_sum(tf.square(noised - rows))
train_op = tf.train.AdagradOptimizer(0.1).minimize(loss)
