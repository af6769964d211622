"""DIEN: an auxiliary loss over negative histories, both read from one table."""

import tensorflow.compat.v1 as tf


class Base:
    def __init__(self, n_uid, n_mid, size):
        with tf.name_scope("Inputs"):
            self.mid_his, self.neg_his = tf.placeholder(tf.int32, [None, None]), tf.placeholder(tf.int32, [None, None])
            self.uid, self.mid = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
            self.target = tf.placeholder(tf.float32, [None, 1])
        with tf.name_scope("Embedding_layer"):
            self.uid_table = tf.get_variable("uid_embedding_var", [n_uid, size])
            self.uid_rows = tf.nn.embedding_lookup(self.uid_table, self.uid)
            self.mid_table = tf.get_variable("mid_embedding_var", [n_mid, size])
            self.mid_rows = tf.nn.embedding_lookup(self.mid_table, self.mid)
            self.his_rows = tf.nn.embedding_lookup(self.mid_table, self.mid_his)
            self.neg_rows = tf.nn.embedding_lookup(self.mid_table, self.neg_his)

    def build(self, x):
        logit = tf.layers.dense(tf.layers.dense(x, 32, tf.nn.relu), 1)
        self.loss = tf.losses.sigmoid_cross_entropy(self.target, logit) + self.auxiliary()
        self.optimizer = tf.train.AdamOptimizer(learning_rate=0.001).minimize(self.loss)

    def auxiliary(self):
        return 0.0


class DIEN(Base):
    def __init__(self, n_uid, n_mid, size):
        super().__init__(n_uid, n_mid, size)
        self.states = tf.layers.dense(self.his_rows, size, tf.nn.tanh)
        self.build(tf.concat([self.uid_rows, self.mid_rows, tf.reduce_sum(self.states, 1)], 1))

    def auxiliary(self):
        click = tf.reduce_sum(self.states * self.his_rows, 2)
        noclick = tf.reduce_sum(self.states * self.neg_rows, 2)
        return -tf.reduce_mean(tf.log_sigmoid(click) + tf.log_sigmoid(-noclick))


model = DIEN(1000, 5000, 18)
