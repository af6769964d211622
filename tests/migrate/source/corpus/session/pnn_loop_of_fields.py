"""PNN: a table for each field, made in a loop and kept in a list."""

import tensorflow.compat.v1 as tf

FIELDS = [100, 200, 50]
inputs = [tf.placeholder(tf.int64, [None]) for _ in FIELDS]
label = tf.placeholder(tf.float32, [None, 1])
tables = []
for i, size in enumerate(FIELDS):
    tables.append(tf.get_variable("embed_%d" % i, [size, 8], initializer=tf.random_normal_initializer(stddev=0.01)))
rows = [tf.nn.embedding_lookup(tables[i], inputs[i]) for i in range(len(FIELDS))]
flat = tf.concat(rows, 1)
products = []
for i in range(len(FIELDS)):
    for j in range(i + 1, len(FIELDS)):
        products.append(tf.reduce_sum(rows[i] * rows[j], 1, keepdims=True))
hidden = tf.layers.dense(tf.concat([flat, *products], 1), 32, tf.nn.relu)
loss = tf.losses.sigmoid_cross_entropy(label, tf.layers.dense(hidden, 1))
train_op = tf.train.AdamOptimizer(0.001).minimize(loss)
