"""`tf.keras.layers.DenseFeatures` as what reads the columns.

verdict: exact
becomes: the columns are the runtime's, the layer stays
"""

import tensorflow.compat.v1 as tf


def build(pairs):
    item = tf.feature_column.categorical_column_with_identity("item", 20)
    column = tf.feature_column.embedding_column(item, 4, initializer=tf.random_normal_initializer(stddev=0.5))
    inputs = tf.keras.layers.DenseFeatures([column])({"item": pairs})
    out = tf.matmul(inputs, tf.get_variable("kernel", [4, 2]))
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
