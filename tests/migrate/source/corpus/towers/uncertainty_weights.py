"""Losses of tasks are weighted by trained scalars; the table's own regularizer is collected."""

import tensorflow.compat.v1 as tf

ids, labels = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None, 2])
table = tf.get_variable("t", [100, 8], regularizer=tf.keras.regularizers.l2(1e-4))
x = tf.nn.embedding_lookup(table, ids)
sigma = tf.get_variable("sigma", [2], initializer=tf.ones_initializer())
losses = tf.reduce_mean(tf.square(tf.layers.dense(x, 2) - labels), 0)
loss = tf.reduce_sum(losses / sigma**2 + tf.log(sigma)) + tf.losses.get_regularization_loss()
train_op = tf.train.AdamOptimizer(0.001).minimize(loss)
