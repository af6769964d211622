"""A pretrained matrix, `tf.constant_initializer(matrix)`.

verdict: exact
becomes: `table_of_rows(rows=tf.constant(matrix, …))`: row i of the matrix is the first row of key i
"""

import numpy as np
import tensorflow.compat.v1 as tf

MATRIX = np.random.RandomState(3).normal(size=(20, 4))


def build(ids):
    table = tf.get_variable("table", [20, 4], initializer=tf.constant_initializer(MATRIX))
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
