"""A transformer block over items with positions; ids come from a dict of features."""

import tensorflow.compat.v1 as tf


def build(features, label, params):
    with tf.variable_scope("bst"):
        table = tf.get_variable(
            "item", [params["items"], params["size"]], initializer=tf.variance_scaling_initializer()
        )
        positions = tf.get_variable("position", [21, params["size"]])
        history = tf.nn.embedding_lookup(table, features["history"])
        target = tf.nn.embedding_lookup(table, features["item"])
        x = tf.concat([history, tf.expand_dims(target, 1)], 1) + tf.nn.embedding_lookup(positions, tf.range(21))
        scores = tf.nn.softmax(tf.matmul(x, x, transpose_b=True) / params["size"] ** 0.5)
        x = tf.layers.flatten(tf.matmul(scores, x))
        logit = tf.layers.dense(x, 1)
    loss = tf.losses.sigmoid_cross_entropy(label, logit)
    return tf.train.AdagradOptimizer(params.get("rate", 0.1)).minimize(loss, tf.train.get_global_step())
