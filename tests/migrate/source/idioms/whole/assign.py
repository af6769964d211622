"""`table.assign(pretrained)`, which is run.

verdict: exact
becomes: `set_rows(table, pretrained)`: the rows of all ids are set, the optimizer's state stays
"""

import numpy as np
import tensorflow.compat.v1 as tf

MATRIX = np.random.RandomState(3).normal(size=(20, 4))


def build(ids):
    table = tf.get_variable("table", [20, 4])
    load = table.assign(MATRIX)
    step = tf.train.get_or_create_global_step()
    with tf.control_dependencies([load]):
        out = tf.nn.embedding_lookup(table, ids) * tf.get_variable("kernel", [4])
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss, step)
