"""BPR with an L2 term over the rows of the batch."""

import tensorflow.compat.v1 as tf

u, i, j = (tf.placeholder(tf.int32, [None]) for _ in range(3))
user_table = tf.get_variable("user", [1000, 16])
item_table = tf.get_variable("item", [2000, 16])
user, positive = tf.nn.embedding_lookup(user_table, u), tf.nn.embedding_lookup(item_table, i)
negative = tf.nn.embedding_lookup(item_table, j)
difference = tf.reduce_sum(user * (positive - negative), 1)
decay = tf.nn.l2_loss(user) + tf.nn.l2_loss(positive) + tf.nn.l2_loss(negative)
loss = -tf.reduce_mean(tf.log_sigmoid(difference)) + 0.001 * decay
train_op = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
