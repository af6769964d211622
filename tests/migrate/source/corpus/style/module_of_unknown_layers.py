"""A library of layers gets the table."""

import tensorflow.compat.v1 as tf
from somewhere.layers import attention

ids = tf.placeholder(tf.int64, [None, 10])
items, other = tf.get_variable("items", [1000, 8]), tf.get_variable("other", [1000, 8])
x = attention(tf.nn.embedding_lookup(items, ids), other)
x += tf.reduce_sum(tf.nn.embedding_lookup(other, ids), 1)
train_op = tf.train.AdamOptimizer().minimize(tf.reduce_sum(x))
