"""The trained table is fetched and written to a file."""

import numpy as np
import tensorflow.compat.v1 as tf


def train(users, items, batches):
    u, i, r = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None]), tf.placeholder(tf.float32, [None])
    user_table, item_table = tf.get_variable("user", [users, 8]), tf.get_variable("item", [items, 8])
    score = tf.reduce_sum(tf.nn.embedding_lookup(user_table, u) * tf.nn.embedding_lookup(item_table, i), 1)
    train_op = tf.train.AdamOptimizer().minimize(tf.losses.mean_squared_error(r, score))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for users_of_batch, items_of_batch, ratings in batches:
            session.run(train_op, {u: users_of_batch, i: items_of_batch, r: ratings})
        np.save("items.npy", session.run(item_table))
