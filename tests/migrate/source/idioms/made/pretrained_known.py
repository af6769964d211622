"""A pretrained matrix that is not trained.

verdict: assumed
becomes: `table_of_rows(rows=matrix, …, trainable=False)`
"""

import numpy as np
import tensorflow.compat.v1 as tf

LINES = ["0 0.5 0.1 -0.2 0.3", "7 -0.5 0.4 0.2 0.1"]


def load(lines):
    matrix = np.random.RandomState(3).uniform(-0.25, 0.25, (20, 4))
    for line in lines:
        word, *values = line.split()
        matrix[int(word)] = [float(value) for value in values]
    return matrix.astype(np.float32)


def build(ids):
    table = tf.Variable(load(LINES), name="table", trainable=False)
    out = tf.nn.embedding_lookup(table, ids) * tf.get_variable("kernel", [4])
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
