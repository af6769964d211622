"""An exponential moving average follows all trained variables, so also the rows."""

import tensorflow.compat.v1 as tf

ids = tf.placeholder(tf.int64, [None])
label = tf.placeholder(tf.float32, [None])
table = tf.get_variable("table", [500, 4])
loss = tf.reduce_mean(tf.square(tf.reduce_sum(tf.nn.embedding_lookup(table, ids), 1) - label))
step = tf.train.AdamOptimizer().minimize(loss)
average = tf.train.ExponentialMovingAverage(0.999)
with tf.control_dependencies([step]):
    train_op = average.apply(tf.trainable_variables())
