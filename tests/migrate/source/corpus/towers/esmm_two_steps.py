"""ESMM trained by two steps of one optimizer, one for each loss."""

import tensorflow.compat.v1 as tf

ids = tf.placeholder(tf.int64, [None, 4])
click, buy = tf.placeholder(tf.float32, [None, 1]), tf.placeholder(tf.float32, [None, 1])
table = tf.get_variable("shared", [1000, 8])
x = tf.reshape(tf.nn.embedding_lookup(table, ids), [-1, 32])
ctr, cvr = tf.sigmoid(tf.layers.dense(x, 1)), tf.sigmoid(tf.layers.dense(x, 1))
ctr_loss, ctcvr_loss = tf.losses.log_loss(click, ctr), tf.losses.log_loss(buy, ctr * cvr)
optimizer = tf.train.AdamOptimizer(0.001)
first, second = optimizer.minimize(ctr_loss), optimizer.minimize(ctcvr_loss)
