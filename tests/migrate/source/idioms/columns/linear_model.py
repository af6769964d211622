"""`tf.feature_column.linear_model` as what reads categorical columns.

verdict: left alone
"""

import tensorflow.compat.v1 as tf


def build(pairs):
    item = tf.feature_column.categorical_column_with_identity("item", 20)
    out = tf.feature_column.linear_model({"item": pairs}, [item])
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.FtrlOptimizer(0.3).minimize(loss)
