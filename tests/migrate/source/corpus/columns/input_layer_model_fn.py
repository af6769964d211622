"""`input_layer` in a model_fn; the optimizer comes from params."""

import tensorflow.compat.v1 as tf


def columns():
    user = tf.feature_column.categorical_column_with_identity("user", 1000)
    item = tf.feature_column.categorical_column_with_hash_bucket("item", 5000, dtype=tf.int64)
    return [tf.feature_column.embedding_column(user, 8), tf.feature_column.embedding_column(item, 16, combiner="sum")]


def model_fn(features, labels, mode, params):
    x = tf.feature_column.input_layer(features, columns())
    loss = tf.losses.sigmoid_cross_entropy(labels, tf.layers.dense(x, 1))
    train_op = tf.train.AdagradOptimizer(params["rate"]).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
