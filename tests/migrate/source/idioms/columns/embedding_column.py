"""`tf.feature_column.embedding_column(categorical, D, combiner)`, read by `input_layer`.

verdict: exact
becomes: `runtime.feature_column.embedding_column`; `input_layer` reads it, in its own order
"""

import tensorflow.compat.v1 as tf


def build(words, pairs):
    columns = tf.feature_column
    word = columns.categorical_column_with_hash_bucket("word", 20)
    item = columns.categorical_column_with_identity("item", 20)
    start = tf.random_normal_initializer(stddev=0.5)
    inputs = tf.feature_column.input_layer(
        {"word": words, "item": pairs},
        [
            columns.embedding_column(word, 4, initializer=start),
            columns.embedding_column(item, 3, combiner="sum", initializer=start),
        ],
    )
    out = tf.matmul(inputs, tf.get_variable("kernel", [7, 2]))
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
