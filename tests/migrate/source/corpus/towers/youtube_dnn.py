"""Candidate generation with a sampled softmax over all videos."""

import tensorflow.compat.v1 as tf


def model_fn(features, labels, mode, params):
    watched = tf.get_variable("watched", [params["videos"], 32])
    output = tf.get_variable("output", [params["videos"], 32])
    bias = tf.get_variable("bias", [params["videos"]], initializer=tf.zeros_initializer())
    user = tf.reduce_mean(tf.nn.embedding_lookup(watched, features["history"]), 1)
    user = tf.layers.dense(user, 32, tf.nn.relu)
    loss = tf.reduce_mean(tf.nn.sampled_softmax_loss(output, bias, labels, user, 100, params["videos"]))
    train_op = tf.train.AdamOptimizer().minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
