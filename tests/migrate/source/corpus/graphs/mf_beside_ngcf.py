"""The same weights without the propagation: rows alone."""

import tensorflow.compat.v1 as tf


class BPRMF:
    def __init__(self, n_users, n_items, emb_dim=16):
        self.users, self.pos, self.neg = (tf.placeholder(tf.int32, (None,)) for _ in range(3))
        initializer = tf.glorot_uniform_initializer()
        self.weights = {
            "user_embedding": tf.Variable(initializer([n_users, emb_dim]), name="user_embedding"),
            "item_embedding": tf.Variable(initializer([n_items, emb_dim]), name="item_embedding"),
        }
        u = tf.nn.embedding_lookup(self.weights["user_embedding"], self.users)
        p = tf.nn.embedding_lookup(self.weights["item_embedding"], self.pos)
        n = tf.nn.embedding_lookup(self.weights["item_embedding"], self.neg)
        self.loss = -tf.reduce_mean(tf.log_sigmoid(tf.reduce_sum(u * (p - n), 1)))
        self.opt = tf.train.AdamOptimizer(0.01).minimize(self.loss)
