"""A pretrained matrix whose type and width are not seen, `tf.Variable(matrix)`.

verdict: assumed
becomes: `table_of_rows(rows=matrix)`: row i of the matrix is the first row of key i
"""

import numpy as np
import tensorflow.compat.v1 as tf

MATRIX = np.stack([np.full(4, row / 10, np.float32) for row in range(20)])


def build(ids):
    table = tf.Variable(MATRIX, name="table")
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
