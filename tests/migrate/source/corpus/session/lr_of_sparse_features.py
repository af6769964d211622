"""Logistic regression over sparse features."""

import tensorflow.compat.v1 as tf

features = tf.sparse_placeholder(tf.int64)
weights = tf.sparse_placeholder(tf.float32)
label = tf.placeholder(tf.float32, [None, 1])
w = tf.get_variable("w", [100000, 1], initializer=tf.zeros_initializer())
b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
logit = tf.nn.embedding_lookup_sparse(w, features, weights, combiner="sum") + b
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=logit))
train_op = tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01).minimize(loss)
