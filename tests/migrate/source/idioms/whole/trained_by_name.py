"""Two optimizers, each with the variables that a condition on their names chooses, as in adversarial models.

verdict: stays
says: ; its variables are chosen by
"""

import tensorflow.compat.v1 as tf


def build(pairs, label):
    with tf.variable_scope("generator"):
        rows = tf.get_variable("rows", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
        bias = tf.get_variable("bias", [], initializer=tf.zeros_initializer())
    with tf.variable_scope("discriminator"):
        others = tf.Variable(tf.random_normal([20, 4], stddev=0.5), name="rows")
        slope = tf.get_variable("slope", [], initializer=tf.ones_initializer())
    first = tf.reduce_sum(tf.nn.embedding_lookup(rows, pairs), axis=[1, 2]) + bias
    second = tf.reduce_sum(tf.nn.embedding_lookup(others, pairs), axis=[1, 2]) * slope
    found = tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=first - second)
    loss, against = tf.reduce_mean(found), tf.reduce_mean(tf.stop_gradient(first) * tf.sigmoid(second))
    variables = tf.trainable_variables()
    gens = [v for v in variables if v.name.startswith("generator/")]
    step = tf.train.AdagradOptimizer(0.1).minimize(loss, var_list=gens)
    discs = [v for v in variables if "discriminator" in v.name]
    other = tf.train.GradientDescentOptimizer(0.2).minimize(against, var_list=discs)
    return first, loss, tf.group(step, other)
