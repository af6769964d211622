"""TransE that reads from the table with rows of length 1."""

import tensorflow.compat.v1 as tf

h, r, t = (tf.placeholder(tf.int32, [None]) for _ in range(3))
entity, relation = tf.get_variable("entity", [1000, 8]), tf.get_variable("relation", [20, 8])
entity_unit = tf.nn.l2_normalize(entity, 1)
head, tail = tf.nn.embedding_lookup(entity_unit, h), tf.nn.embedding_lookup(entity_unit, t)
loss = tf.reduce_sum(tf.abs(head + tf.nn.embedding_lookup(relation, r) - tail))
train_op = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
