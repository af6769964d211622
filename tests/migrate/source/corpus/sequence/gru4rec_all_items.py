"""GRU4Rec that predicts over all items by the whole softmax matrix."""

import tensorflow.compat.v1 as tf

x, y = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
embedding, softmax = tf.get_variable("embedding", [900, 16]), tf.get_variable("softmax", [900, 16])
output = tf.layers.dense(tf.nn.embedding_lookup(embedding, x), 16, tf.nn.tanh)
sampled = tf.nn.embedding_lookup(softmax, y)
cost = -tf.reduce_mean(tf.log_sigmoid(tf.reduce_sum(output * sampled, 1)))
train_op = tf.train.AdagradOptimizer(0.01).minimize(cost)
predicted = tf.nn.softmax(tf.matmul(output, softmax, transpose_b=True))
