"""`categorical_column_with_embedding` of strings below `embedding_column`, with FTRL.

verdict: exact
bound: 0
becomes: `categorical_column_with_keys(…)` and `keyed_embedding_column(…)`; DeepRec's FTRL is `GroupFtrlOptimizer`
"""

import tensorflow.compat.v1 as tf


def build(words, label):
    category = tf.feature_column.categorical_column_with_embedding("word", dtype=tf.string, partition_num=2)
    start = tf.random_normal_initializer(seed=4)
    column = tf.feature_column.embedding_column(category, dimension=3, combiner="sqrtn", initializer=start)
    out = tf.feature_column.input_layer({"word": words[:, None]}, [column])
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(out, 1) - label))
    optimizer = tf.train.FtrlOptimizer(0.5, l1_regularization_strength=0.02)
    return out, loss, optimizer.minimize(loss)
