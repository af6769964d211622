"""Sequence columns, read by `SequenceFeatures`.

verdict: exact
becomes: the embedding column is the runtime's
"""

import tensorflow.compat.v1 as tf


def build(sparse):
    item = tf.feature_column.sequence_categorical_column_with_identity("item", 20)
    column = tf.feature_column.embedding_column(item, 4, initializer=tf.random_normal_initializer(stddev=0.5))
    rows, lengths = tf.keras.experimental.SequenceFeatures([column])({"item": sparse})
    out = tf.reduce_sum(rows, axis=1) * tf.get_variable("kernel", [4]) + tf.cast(lengths, tf.float32)[:, None]
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.1).minimize(loss)
