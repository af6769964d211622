"""NFM; its optimizer is chosen by a name, as many public models do it."""

import tensorflow.compat.v1 as tf


class NFM:
    def __init__(self, features, hidden_factor, rate, optimizer_type):
        self.features = tf.placeholder(tf.int32, [None, None])
        self.labels = tf.placeholder(tf.float32, [None, 1])
        self.keep = tf.placeholder(tf.float32)
        self.embeddings = tf.Variable(tf.random_normal([features, hidden_factor], 0.0, 0.01), name="embeddings")
        self.bias = tf.Variable(tf.random_uniform([features, 1], 0.0, 0.0), name="bias")
        rows = tf.nn.embedding_lookup(self.embeddings, self.features)
        summed = tf.square(tf.reduce_sum(rows, 1))
        self.fm = tf.nn.dropout(0.5 * (summed - tf.reduce_sum(tf.square(rows), 1)), self.keep)
        deep = tf.layers.dense(self.fm, 64, tf.nn.relu)
        self.out = tf.layers.dense(deep, 1) + tf.reduce_sum(tf.nn.embedding_lookup(self.bias, self.features), 1)
        self.loss = tf.nn.l2_loss(tf.subtract(self.labels, self.out))
        if optimizer_type == "AdamOptimizer":
            self.optimizer = tf.train.AdamOptimizer(rate, beta1=0.9, beta2=0.999, epsilon=1e-8).minimize(self.loss)
        elif optimizer_type == "AdagradOptimizer":
            self.optimizer = tf.train.AdagradOptimizer(rate, initial_accumulator_value=1e-8).minimize(self.loss)
        elif optimizer_type == "GradientDescentOptimizer":
            self.optimizer = tf.train.GradientDescentOptimizer(rate).minimize(self.loss)
        elif optimizer_type == "MomentumOptimizer":
            self.optimizer = tf.train.MomentumOptimizer(rate, momentum=0.95).minimize(self.loss)
