"""Two towers whose negatives are the other items of the batch; a table is shared by two features."""

import tensorflow.compat.v1 as tf

user, item = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int64, [None])
history = tf.placeholder(tf.int64, [None, 10])
users, items = tf.get_variable("users", [1000, 16]), tf.get_variable("items", [5000, 16])
query = tf.layers.dense(
    tf.nn.embedding_lookup(users, user) + tf.reduce_mean(tf.nn.embedding_lookup(items, history), 1), 16
)
candidates = tf.nn.embedding_lookup(items, item)
logits = tf.matmul(query, candidates, transpose_b=True)
labels = tf.range(tf.shape(item)[0])
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
train_op = tf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)
