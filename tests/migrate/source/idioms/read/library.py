"""A lookup hidden in a helper of a library.

verdict: left alone
"""

import tensorflow.compat.v1 as tf
from some_library import embed


def build(ids):
    out = embed(ids, 20, 4)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
