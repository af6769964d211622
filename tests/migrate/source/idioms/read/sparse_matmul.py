"""`tf.sparse_tensor_dense_matmul(x, table)`, also with `tf.pow(table, 2)`, as in factorization machines.

verdict: exact
becomes: a weighted sum of looked-up rows; of the power, of their powers
"""

import tensorflow.compat.v1 as tf


def build(wide):
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    squares = tf.SparseTensor(wide.indices, tf.pow(wide.values, 2), wide.dense_shape)
    out = tf.pow(tf.sparse_tensor_dense_matmul(wide, table), 2)
    out -= tf.sparse_tensor_dense_matmul(squares, tf.pow(table, 2))
    loss = tf.reduce_mean(tf.square(0.5 * tf.reduce_sum(out, axis=1) - 1.0))
    return out, loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss)
