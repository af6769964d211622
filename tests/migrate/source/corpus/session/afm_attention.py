"""AFM: attention over the products of pairs, its gradients clipped one by one."""

import tensorflow.compat.v1 as tf

ids = tf.placeholder(tf.int64, [None, 4])
label = tf.placeholder(tf.float32, [None])
table = tf.Variable(tf.random_normal([1000, 8], stddev=0.01), name="features")
rows = tf.nn.embedding_lookup(table, ids)
pairs = tf.stack([rows[:, i] * rows[:, j] for i in range(4) for j in range(i + 1, 4)], 1)
score = tf.nn.softmax(tf.layers.dense(tf.layers.dense(pairs, 8, tf.nn.relu), 1), 1)
logit = tf.reduce_sum(score * pairs, [1, 2])
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=logit))
optimizer = tf.train.AdagradOptimizer(0.1)
grads = optimizer.compute_gradients(loss)
clipped = [(tf.clip_by_norm(grad, 5.0), var) for grad, var in grads if grad is not None]
train_op = optimizer.apply_gradients(clipped)
