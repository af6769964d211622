"""NeuMF as a class: four tables, kept in attributes by a method of their own."""

import tensorflow.compat.v1 as tf


class NeuMF:
    def __init__(self, users, items, factors=8):
        self.users, self.items, self.factors = users, items, factors
        self.create_placeholders()
        self.create_tables()
        self.create_model()
        self.create_optimizer()

    def create_placeholders(self):
        with tf.name_scope("input"):
            self.user = tf.placeholder(tf.int32, [None])
            self.item = tf.placeholder(tf.int32, [None])
            self.label = tf.placeholder(tf.float32, [None, 1])

    def create_tables(self):
        stddev = tf.truncated_normal_initializer(stddev=0.01)
        with tf.variable_scope("embedding"):
            self.mf_user = tf.get_variable("mf_user", [self.users, self.factors], initializer=stddev)
            self.mf_item = tf.get_variable("mf_item", [self.items, self.factors], initializer=stddev)
            self.mlp_user = tf.get_variable("mlp_user", [self.users, self.factors * 2], initializer=stddev)
            self.mlp_item = tf.get_variable("mlp_item", [self.items, self.factors * 2], initializer=stddev)

    def create_model(self):
        mf = tf.nn.embedding_lookup(self.mf_user, self.user) * tf.nn.embedding_lookup(self.mf_item, self.item)
        mlp = tf.concat(
            [tf.nn.embedding_lookup(self.mlp_user, self.user), tf.nn.embedding_lookup(self.mlp_item, self.item)], 1
        )
        for width in (32, 16, 8):
            mlp = tf.layers.dense(mlp, width, tf.nn.relu)
        self.logits = tf.layers.dense(tf.concat([mf, mlp], 1), 1)

    def create_optimizer(self):
        self.loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=self.label, logits=self.logits))
        self.optimizer = tf.train.AdamOptimizer(0.001)
        self.train_op = self.optimizer.minimize(self.loss)
