"""Two optimizers, each with a `var_list` that names its tables, as in wide and deep models.

verdict: exact
becomes: each list is taken apart, `[bias], [wide.variable]`; a table is trained by the optimizer that names it
"""

import tensorflow.compat.v1 as tf


def build(pairs, label):
    wide = tf.get_variable("wide", [20, 1], initializer=tf.random_normal_initializer(stddev=0.1))
    deep = tf.get_variable("deep", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    bias = tf.get_variable("bias", [], initializer=tf.zeros_initializer())
    kernel = tf.get_variable("kernel", [12, 1], initializer=tf.random_normal_initializer(stddev=0.3))
    linear = tf.reduce_sum(tf.nn.embedding_lookup(wide, pairs), axis=[1, 2])
    rows = tf.reshape(tf.nn.embedding_lookup(deep, pairs), [-1, 12])
    out = bias + linear + tf.squeeze(tf.matmul(rows, kernel), 1)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=out))
    linear_step = tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01).minimize(loss, var_list=[wide, bias])
    deep_vars = [deep, kernel]
    deep_step = tf.train.AdagradOptimizer(0.1).minimize(loss, var_list=deep_vars)
    return out, loss, tf.group(linear_step, deep_step)
