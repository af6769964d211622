"""FFM: one table for each field, all of them in a list comprehension."""

import tensorflow.compat.v1 as tf

FIELDS, FEATURES, K = 3, 900, 4
ids = tf.placeholder(tf.int64, [None, FIELDS])
label = tf.placeholder(tf.float32, [None])
tables = [tf.get_variable("v_%d" % f, [FEATURES, K]) for f in range(FIELDS)]
rows = [tf.nn.embedding_lookup(table, ids) for table in tables]
terms = []
for i in range(FIELDS):
    for j in range(i + 1, FIELDS):
        terms.append(tf.reduce_sum(rows[j][:, i] * rows[i][:, j], 1))
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=tf.add_n(terms)))
train_op = tf.train.FtrlOptimizer(0.05).minimize(loss)
