"""Weighted, bucketized and crossed columns below an embedding column.

verdict: exact
becomes: those columns stay; what they give is the ids of the table
"""

import tensorflow.compat.v1 as tf


def build(words, pairs, sparse, weights):
    columns = tf.feature_column
    item = columns.categorical_column_with_identity("item", 20)
    age = columns.bucketized_column(columns.numeric_column("age"), [0.2, 0.4, 0.6])
    crossed = columns.crossed_column(["word", "place"], 20)
    start = tf.random_normal_initializer(stddev=0.5)
    inputs = tf.feature_column.input_layer(
        {"word": words, "place": pairs[:, :1], "item": sparse, "weight": weights, "age": pairs[:, :1] / 20},
        [
            columns.embedding_column(columns.weighted_categorical_column(item, "weight"), 4, initializer=start),
            columns.embedding_column(age, 3, initializer=start),
            columns.embedding_column(crossed, 2, initializer=start),
        ],
    )
    out = tf.matmul(inputs, tf.get_variable("kernel", [9, 2]))
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
