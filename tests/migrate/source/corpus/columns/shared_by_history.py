"""Shared columns of an item and its history."""

import tensorflow.compat.v1 as tf

item = tf.feature_column.categorical_column_with_hash_bucket("item", 5000, dtype=tf.int64)
history = tf.feature_column.categorical_column_with_hash_bucket("history", 5000, dtype=tf.int64)
shared = tf.feature_column.shared_embedding_columns([item, history], 8, combiner="mean")
features = {"item": tf.placeholder(tf.int64, [None]), "history": tf.sparse_placeholder(tf.int64)}
label = tf.placeholder(tf.float32, [None, 1])
x = tf.feature_column.input_layer(features, shared)
train_op = tf.train.AdamOptimizer().minimize(tf.losses.sigmoid_cross_entropy(label, tf.layers.dense(x, 1)))
