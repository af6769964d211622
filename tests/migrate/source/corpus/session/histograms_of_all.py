"""A summary of each trained variable, and a saver."""

import tensorflow.compat.v1 as tf

ids = tf.placeholder(tf.int64, [None])
table = tf.get_variable("table", [500, 4])
hidden = tf.layers.dense(tf.nn.embedding_lookup(table, ids), 1)
loss = tf.reduce_sum(hidden)
train_op = tf.train.AdamOptimizer(0.1).minimize(loss)
for variable in tf.trainable_variables():
    tf.summary.histogram(variable.op.name, variable)
merged = tf.summary.merge_all()
saver = tf.train.Saver(max_to_keep=2)
