"""Two optimizers: FTRL for the variables of one scope, Adam for those of another."""

import tensorflow.compat.v1 as tf

ids = tf.placeholder(tf.int64, [None, 3])
label = tf.placeholder(tf.float32, [None, 1])
with tf.variable_scope("wide"):
    wide = tf.get_variable("w", [1000, 1], initializer=tf.zeros_initializer())
    linear = tf.reduce_sum(tf.nn.embedding_lookup(wide, ids), 1)
with tf.variable_scope("deep"):
    deep = tf.get_variable("emb", [1000, 8])
    hidden = tf.layers.dense(tf.reshape(tf.nn.embedding_lookup(deep, ids), [-1, 24]), 16, tf.nn.relu)
    logit = tf.layers.dense(hidden, 1)
loss = tf.losses.sigmoid_cross_entropy(label, linear + logit)
wide_op = tf.train.FtrlOptimizer(0.1).minimize(loss, var_list=tf.trainable_variables("wide"))
deep_op = tf.train.AdamOptimizer(0.001).minimize(loss, var_list=tf.trainable_variables("deep"))
train_op = tf.group(wide_op, deep_op)
