"""A linear model beside a deep one, each with its optimizer, by collections of variables."""

import tensorflow.compat.v1 as tf


def model_fn(features, labels, mode):
    job = tf.feature_column.categorical_column_with_hash_bucket("job", 1000)
    with tf.variable_scope("linear"):
        linear = tf.feature_column.linear_model(features, [job])
    with tf.variable_scope("dnn"):
        x = tf.feature_column.input_layer(features, [tf.feature_column.embedding_column(job, 8)])
        deep = tf.layers.dense(x, 1)
    loss = tf.losses.sigmoid_cross_entropy(labels, linear + deep)
    ops = []
    for scope, optimizer in (("linear", tf.train.FtrlOptimizer(0.1)), ("dnn", tf.train.AdamOptimizer())):
        variables = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope)
        ops.append(optimizer.minimize(loss, var_list=variables))
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.group(*ops))
