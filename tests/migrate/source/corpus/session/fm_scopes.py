"""A factorization machine in variable scopes, its step with a global step."""

import tensorflow.compat.v1 as tf

ids = tf.placeholder(tf.int64, [None, 10])
label = tf.placeholder(tf.float32, [None])
with tf.variable_scope("fm"):
    with tf.variable_scope("linear"):
        bias = tf.get_variable("bias", [1], initializer=tf.zeros_initializer())
        linear = tf.get_variable("w", [5000, 1], initializer=tf.zeros_initializer())
    with tf.variable_scope("pairs"):
        factors = tf.get_variable("v", [5000, 16], initializer=tf.truncated_normal_initializer(stddev=0.01))
first = tf.reduce_sum(tf.gather(linear, ids), axis=[1, 2])
rows = tf.gather(factors, ids)
second = 0.5 * tf.reduce_sum(tf.square(tf.reduce_sum(rows, 1)) - tf.reduce_sum(tf.square(rows), 1), 1)
logit = bias + first + second
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=logit))
step = tf.train.get_or_create_global_step()
train_op = tf.train.AdagradOptimizer(0.05).minimize(loss, global_step=step)
