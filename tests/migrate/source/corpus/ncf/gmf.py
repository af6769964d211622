"""Generalized matrix factorization in functions."""

import tensorflow.compat.v1 as tf


def embedded(ids, size, name):
    table = tf.get_variable(name, [size, 8], initializer=tf.truncated_normal_initializer(stddev=0.01))
    return tf.nn.embedding_lookup(table, ids)


def model(user, item, users, items):
    with tf.variable_scope("gmf"):
        vector = embedded(user, users, "user") * embedded(item, items, "item")
        return tf.layers.dense(vector, 1)


user, item = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
label = tf.placeholder(tf.float32, [None, 1])
loss = tf.losses.sigmoid_cross_entropy(label, model(user, item, 1000, 500))
train_op = tf.train.AdamOptimizer(0.001).minimize(loss)
