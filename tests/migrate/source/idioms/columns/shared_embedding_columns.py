"""`tf.feature_column.shared_embedding_columns`.

verdict: exact
becomes: `runtime.feature_column.shared_embedding_columns`: one table, a lookup for each member
"""

import tensorflow.compat.v1 as tf


def build(ids, pairs):
    target = tf.feature_column.categorical_column_with_identity("target", 20)
    history = tf.feature_column.categorical_column_with_identity("history", 20)
    shared = tf.feature_column.shared_embedding_columns(
        [target, history], 4, combiner="mean", initializer=tf.random_normal_initializer(stddev=0.5)
    )
    inputs = tf.feature_column.input_layer({"target": ids[:6], "history": pairs}, shared)
    out = tf.matmul(inputs, tf.get_variable("kernel", [8, 2]))
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
