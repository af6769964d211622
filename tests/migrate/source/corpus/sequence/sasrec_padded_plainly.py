"""The same padding, written where it is used."""

import tensorflow.compat.v1 as tf

ids, target = tf.placeholder(tf.int32, [None, 20]), tf.placeholder(tf.int32, [None, 20])
table = tf.get_variable("items", [1000, 32])
padded = tf.concat([tf.zeros([1, 32]), table[1:]], 0)
seq = tf.nn.embedding_lookup(padded, ids)
items = tf.nn.embedding_lookup(padded, target)
loss = -tf.reduce_mean(tf.log_sigmoid(tf.reduce_sum(seq * items, 2)))
train_op = tf.train.AdamOptimizer(0.001).minimize(loss)
