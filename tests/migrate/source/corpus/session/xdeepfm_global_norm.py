"""CIN layers over field rows; gradients clipped together."""

import tensorflow.compat.v1 as tf

ids = tf.placeholder(tf.int64, [None, 6])
label = tf.placeholder(tf.float32, [None, 1])
with tf.variable_scope("embedding"):
    table = tf.get_variable("table", [3000, 8], tf.float32, tf.random_uniform_initializer(-0.05, 0.05))
x = tf.nn.embedding_lookup(table, ids)
state = x
for n in range(2):
    outer = tf.einsum("bhd,bmd->bhmd", state, x)
    kernel = tf.get_variable("cin_%d" % n, [6, 6, 6])
    state = tf.einsum("bhmd,nhm->bnd", outer, kernel)
logit = tf.layers.dense(tf.reduce_sum(state, 2), 1)
loss = tf.losses.sigmoid_cross_entropy(label, logit)
optimizer = tf.train.AdamOptimizer(1e-3)
variables = tf.trainable_variables()
grads, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), 5.0)
train_op = optimizer.apply_gradients(zip(grads, variables))
