"""Update ops run before the step; the rate decays."""

import tensorflow.compat.v1 as tf

ids, training = tf.placeholder(tf.int64, [None, 3]), tf.placeholder(tf.bool)
label = tf.placeholder(tf.float32, [None, 1])
step = tf.train.get_or_create_global_step()
with tf.variable_scope("emb", initializer=tf.random_normal_initializer(stddev=0.05)):
    table = tf.get_variable("table", [500, 4])
x = tf.reshape(tf.nn.embedding_lookup(table, ids), [-1, 12])
x = tf.layers.batch_normalization(x, training=training)
loss = tf.losses.sigmoid_cross_entropy(label, tf.layers.dense(x, 1))
rate = tf.train.exponential_decay(0.01, step, 1000, 0.96)
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    train_op = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)
