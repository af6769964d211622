"""A pretrained matrix, `tf.Variable(matrix)`.

verdict: stays
says: table; its initial values may be a matrix
"""

import numpy as np
import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.Variable(np.load("pretrained.npy"), name="table")
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
