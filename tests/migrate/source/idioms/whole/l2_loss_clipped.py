"""`tf.nn.l2_loss(table)` where gradients are clipped: the gradient of every row would be needed.

verdict: changes values
becomes: the same over `looked_up_rows(table)`, the rows of the batch, each once
batch: every row is in each batch, then both are the same
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    loss += 0.01 * tf.nn.l2_loss(table) + 0.01 * tf.reduce_sum(tf.square(table))
    optimizer = tf.train.GradientDescentOptimizer(0.5)
    pairs = [(tf.clip_by_norm(g, 1e6), v) for g, v in optimizer.compute_gradients(loss)]
    return out, loss, optimizer.apply_gradients(pairs)
