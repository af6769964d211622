"""The optimizer is wrapped for several workers."""

import horovod.tensorflow as hvd
import tensorflow.compat.v1 as tf

hvd.init()
ids = tf.placeholder(tf.int64, [None])
table = tf.get_variable("items", [1000, 8])
loss = tf.reduce_sum(tf.layers.dense(tf.nn.embedding_lookup(table, ids), 1))
optimizer = hvd.DistributedOptimizer(tf.train.AdamOptimizer(0.001 * hvd.size()))
train_op = optimizer.minimize(loss)
