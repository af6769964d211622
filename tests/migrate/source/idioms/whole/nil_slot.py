"""The gradient of a row of padding is set to zeros, by the variable's name.

verdict: stays
says: ; how these gradients are applied is not known
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4])
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    optimizer = tf.train.AdagradOptimizer(0.3)
    pairs = []
    for gradient, variable in optimizer.compute_gradients(loss):
        if variable.op.name == "table":
            gradient = tf.concat([tf.zeros([1, 4]), tf.convert_to_tensor(gradient)[1:]], axis=0)
        pairs.append((gradient, variable))
    return out, loss, optimizer.apply_gradients(pairs)
