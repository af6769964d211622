"""`indicator_column`.

verdict: left alone
"""

import tensorflow.compat.v1 as tf


def build(pairs):
    item = tf.feature_column.categorical_column_with_identity("item", 20)
    inputs = tf.feature_column.input_layer({"item": pairs}, [tf.feature_column.indicator_column(item)])
    out = tf.matmul(inputs, tf.get_variable("kernel", [20, 2]))
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
