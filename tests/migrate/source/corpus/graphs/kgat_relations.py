"""TransR: a matrix for each relation is gathered; heads and tails come from one table of entities."""

import tensorflow.compat.v1 as tf

h, r, pos_t, neg_t = (tf.placeholder(tf.int32, [None]) for _ in range(4))
entity = tf.get_variable("entity", [1000, 8])
relation = tf.get_variable("relation", [20, 4])
trans = tf.get_variable("trans", [20, 8, 4])


def score(tail):
    matrix = tf.nn.embedding_lookup(trans, r)
    head = tf.matmul(tf.expand_dims(tf.nn.embedding_lookup(entity, h), 1), matrix)
    end = tf.matmul(tf.expand_dims(tf.nn.embedding_lookup(entity, tail), 1), matrix)
    return tf.reduce_sum(tf.square(head[:, 0] + tf.nn.embedding_lookup(relation, r) - end[:, 0]), 1)


loss = tf.reduce_mean(tf.nn.softplus(score(pos_t) - score(neg_t)))
train_op = tf.train.AdamOptimizer(0.001).minimize(loss)
