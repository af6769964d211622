"""Columns are built from a table of features by kind."""

import tensorflow.compat.v1 as tf

FEATURES = [("user", "hash", 1000, 8), ("price", "number", 0, 0), ("item", "id", 500, 8)]


def build():
    columns = []
    for name, kind, size, dim in FEATURES:
        if kind == "hash":
            one = tf.feature_column.categorical_column_with_hash_bucket(name, size)
        elif kind == "id":
            one = tf.feature_column.categorical_column_with_identity(name, size)
        else:
            columns.append(tf.feature_column.numeric_column(name))
            continue
        columns.append(tf.feature_column.embedding_column(one, dim))
    return columns


def model(features, labels):
    x = tf.feature_column.input_layer(features, build())
    loss = tf.losses.sigmoid_cross_entropy(labels, tf.layers.dense(x, 1))
    return tf.train.AdamOptimizer(0.001).minimize(loss)
