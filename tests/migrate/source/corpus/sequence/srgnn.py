"""A session graph: the scores are those of all items but the padding."""

import tensorflow.compat.v1 as tf

item, alias, target = (
    tf.placeholder(tf.int32, [None, 10]),
    tf.placeholder(tf.int32, [None, 10]),
    tf.placeholder(tf.int32, [None]),
)
embedding = tf.get_variable("embedding", [500, 16], initializer=tf.random_uniform_initializer(-0.25, 0.25))
states = tf.layers.dense(tf.nn.embedding_lookup(embedding, item), 16, tf.nn.tanh)
session_rows = tf.reduce_mean(tf.gather(states, alias, batch_dims=1), 1)
logits = tf.matmul(session_rows, embedding[1:], transpose_b=True)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target - 1, logits=logits))
train_op = tf.train.AdamOptimizer(0.001).minimize(loss)
