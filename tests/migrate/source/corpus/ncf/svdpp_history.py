"""SVD++: the history of a user is pooled from a second item table, with biases in tables of one column."""

import tensorflow.compat.v1 as tf

user, item = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.int64, [None])
history = tf.sparse_placeholder(tf.int64)
rating = tf.placeholder(tf.float32, [None])
tables = {
    "p": tf.get_variable("p", [1000, 8]),
    "q": tf.get_variable("q", [2000, 8]),
    "y": tf.get_variable("y", [2000, 8]),
    "bu": tf.get_variable("bu", [1000], initializer=tf.zeros_initializer()),
    "bi": tf.get_variable("bi", [2000], initializer=tf.zeros_initializer()),
}
implicit = tf.nn.embedding_lookup_sparse(tables["y"], history, None, combiner="sqrtn")
p = tf.nn.embedding_lookup(tables["p"], user) + implicit
q = tf.nn.embedding_lookup(tables["q"], item)
bias = tf.nn.embedding_lookup(tables["bu"], user) + tf.nn.embedding_lookup(tables["bi"], item)
loss = tf.reduce_mean(tf.square(tf.reduce_sum(p * q, 1) + bias - rating))
train_op = tf.train.AdamOptimizer(0.002).minimize(loss)
