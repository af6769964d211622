"""Metric learning keeps all rows in the unit ball: the whole table is assigned after each step."""

import tensorflow.compat.v1 as tf

u, i = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
users = tf.Variable(tf.random_normal([100, 8], stddev=0.1))
items = tf.Variable(tf.random_normal([200, 8], stddev=0.1))
distance = tf.reduce_sum(tf.squared_difference(tf.gather(users, u), tf.gather(items, i)), 1)
step = tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(distance))
with tf.control_dependencies([step]):
    train_op = tf.group(*[tf.assign(v, tf.clip_by_norm(v, 1.0, axes=[1])) for v in (users, items)])
