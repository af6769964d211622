"""NGCF: all rows of both tables are multiplied by the adjacency matrix."""

import tensorflow.compat.v1 as tf


class NGCF:
    def __init__(self, n_users, n_items, adjacency, emb_dim=16):
        self.n_users, self.n_items, self.emb_dim = n_users, n_items, emb_dim
        self.users, self.pos = tf.placeholder(tf.int32, (None,)), tf.placeholder(tf.int32, (None,))
        self.weights = self._init_weights()
        self.ua, self.ia = self._propagate(adjacency)
        u, p = tf.nn.embedding_lookup(self.ua, self.users), tf.nn.embedding_lookup(self.ia, self.pos)
        self.loss = -tf.reduce_mean(tf.log_sigmoid(tf.reduce_sum(u * p, 1)))
        self.opt = tf.train.AdamOptimizer(0.01).minimize(self.loss)

    def _init_weights(self):
        all_weights = dict()
        initializer = tf.glorot_uniform_initializer()
        all_weights["user_embedding"] = tf.Variable(initializer([self.n_users, self.emb_dim]), name="user_embedding")
        all_weights["item_embedding"] = tf.Variable(initializer([self.n_items, self.emb_dim]), name="item_embedding")
        all_weights["W_gc_0"] = tf.Variable(initializer([self.emb_dim, self.emb_dim]), name="W_gc_0")
        return all_weights

    def _propagate(self, adjacency):
        ego = tf.concat([self.weights["user_embedding"], self.weights["item_embedding"]], axis=0)
        side = tf.sparse_tensor_dense_matmul(adjacency, ego)
        ego = tf.nn.leaky_relu(tf.matmul(side, self.weights["W_gc_0"]))
        return tf.split(ego, [self.n_users, self.n_items], 0)
