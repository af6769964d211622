"""Skip-gram over items with noise-contrastive estimation, which samples from the whole table."""

import tensorflow.compat.v1 as tf

center, context = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None, 1])
embeddings = tf.Variable(tf.random_uniform([5000, 32], -1.0, 1.0))
nce_weights = tf.Variable(tf.truncated_normal([5000, 32], stddev=0.1))
nce_biases = tf.Variable(tf.zeros([5000]))
embed = tf.nn.embedding_lookup(embeddings, center)
loss = tf.reduce_mean(tf.nn.nce_loss(nce_weights, nce_biases, context, embed, 64, 5000))
train_op = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
