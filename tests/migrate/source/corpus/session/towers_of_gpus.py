"""One tower for each GPU with gradients averaged: what a table gets is computed by hand."""

import tensorflow.compat.v1 as tf


def average(towers):
    result = []
    for pairs in zip(*towers):
        result.append((tf.reduce_mean(tf.stack([tf.convert_to_tensor(g) for g, _ in pairs]), 0), pairs[0][1]))
    return result


optimizer = tf.train.AdagradOptimizer(0.1)
ids = tf.placeholder(tf.int64, [None])
towers = []
for gpu, part in enumerate(tf.split(ids, 2)):
    with tf.device("/gpu:%d" % gpu), tf.variable_scope("model", reuse=gpu > 0):
        table = tf.get_variable("table", [500, 4])
        loss = tf.reduce_sum(tf.nn.embedding_lookup(table, part))
        towers.append(optimizer.compute_gradients(loss))
train_op = optimizer.apply_gradients(average(towers))
