"""Gradients with respect to the rows are perturbed for an adversarial loss."""

import tensorflow.compat.v1 as tf

ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None, 1])
table = tf.get_variable("items", [1000, 8])
rows = tf.nn.embedding_lookup(table, ids)


def logit(x):
    with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
        return tf.layers.dense(x, 1, name="out")


loss = tf.losses.sigmoid_cross_entropy(label, logit(rows))
noise = tf.stop_gradient(tf.nn.l2_normalize(tf.gradients(loss, rows)[0], 1))
loss += tf.losses.sigmoid_cross_entropy(label, logit(rows + 0.1 * noise))
train_op = tf.train.AdagradOptimizer(0.1).minimize(loss)
