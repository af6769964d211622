"""DeepRec: rows are admitted by a counter and evicted by age."""

import tensorflow as tf

option = tf.EmbeddingVariableOption(
    filter_option=tf.CounterFilter(filter_freq=3), evict_option=tf.GlobalStepEvict(steps_to_live=1000)
)
ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None, 1])
table = tf.get_embedding_variable("user", embedding_dim=8, key_dtype=tf.int64, ev_option=option)
x = tf.nn.embedding_lookup(table, ids)
loss = tf.losses.sigmoid_cross_entropy(label, tf.layers.dense(x, 1))
train_op = tf.train.AdamOptimizer(0.001).minimize(loss, tf.train.get_or_create_global_step())
