"""DeepRec: a partitioned EmbeddingVariable under lookups of sparse ids, with AdamAsync."""

import tensorflow as tf

features, label = tf.sparse_placeholder(tf.int64), tf.placeholder(tf.float32, [None, 1])
with tf.variable_scope("emb", partitioner=tf.fixed_size_partitioner(4)):
    table = tf.get_embedding_variable("f", embedding_dim=16, key_dtype=tf.int64)
x = tf.nn.embedding_lookup_sparse(table, features, None, combiner="mean")
loss = tf.losses.sigmoid_cross_entropy(label, tf.layers.dense(x, 1))
train_op = tf.train.AdamAsyncOptimizer(0.001).minimize(loss, tf.train.get_or_create_global_step())
