"""A lookup of positions, `tf.range(T)`.

verdict: exact
becomes: a table as any other; keep it by a comment where it is to stay small and dense
"""

import tensorflow.compat.v1 as tf


def build(pairs):
    position = tf.get_variable("position", [3, 4])
    rows = tf.nn.embedding_lookup(position, tf.tile(tf.expand_dims(tf.range(3), 0), [6, 1]))
    out = rows * tf.cast(pairs, tf.float32)[:, :, None]
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
