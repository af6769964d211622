"""DIN with the scores of all items: the table is concatenated with all categories."""

import tensorflow.compat.v1 as tf

u, i = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
cates = tf.constant([0, 1, 1, 0], tf.int32)
item_table, cate_table = tf.get_variable("item", [4, 8]), tf.get_variable("cate", [2, 8])
user_table = tf.get_variable("user", [10, 16])
user = tf.nn.embedding_lookup(user_table, u)
item = tf.concat([tf.nn.embedding_lookup(item_table, i), tf.nn.embedding_lookup(cate_table, tf.gather(cates, i))], 1)
loss = -tf.reduce_mean(tf.log_sigmoid(tf.reduce_sum(user * item, 1)))
everything = tf.concat([item_table, tf.nn.embedding_lookup(cate_table, cates)], 1)
scores = tf.matmul(user, everything, transpose_b=True)
train_op = tf.train.AdamOptimizer().minimize(loss)
