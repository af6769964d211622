"""DeepFM as a class; its weights are entries of a dict that a method makes."""

import numpy as np
import tensorflow.compat.v1 as tf


class DeepFM:
    def __init__(self, feature_size, field_size, embedding_size=8, layers=(32, 16), learning_rate=0.001):
        self.feature_size, self.field_size = feature_size, field_size
        self.embedding_size, self.layers = embedding_size, layers
        self.learning_rate = learning_rate
        self.feat_index = tf.placeholder(tf.int32, [None, field_size], name="feat_index")
        self.feat_value = tf.placeholder(tf.float32, [None, field_size], name="feat_value")
        self.label = tf.placeholder(tf.float32, [None, 1], name="label")
        self.weights = self._initialize_weights()
        self._build()

    def _initialize_weights(self):
        weights = dict()
        weights["feature_embeddings"] = tf.Variable(
            tf.random_normal([self.feature_size, self.embedding_size], 0.0, 0.01), name="feature_embeddings"
        )
        weights["feature_bias"] = tf.Variable(tf.random_uniform([self.feature_size, 1], 0.0, 1.0), name="feature_bias")
        size = self.field_size * self.embedding_size
        for i, width in enumerate(self.layers):
            glorot = np.sqrt(2.0 / (size + width))
            weights["layer_%d" % i] = tf.Variable(tf.random_normal([size, width], 0.0, glorot))
            weights["bias_%d" % i] = tf.Variable(tf.zeros([1, width]))
            size = width
        weights["concat_projection"] = tf.Variable(tf.random_normal([size + self.field_size + self.embedding_size, 1]))
        return weights

    def _build(self):
        embeddings = tf.nn.embedding_lookup(self.weights["feature_embeddings"], self.feat_index)
        value = tf.reshape(self.feat_value, [-1, self.field_size, 1])
        embeddings = tf.multiply(embeddings, value)
        first = tf.nn.embedding_lookup(self.weights["feature_bias"], self.feat_index)
        first = tf.reduce_sum(tf.multiply(first, value), 2)
        second = 0.5 * (tf.square(tf.reduce_sum(embeddings, 1)) - tf.reduce_sum(tf.square(embeddings), 1))
        deep = tf.reshape(embeddings, [-1, self.field_size * self.embedding_size])
        for i in range(len(self.layers)):
            deep = tf.nn.relu(tf.matmul(deep, self.weights["layer_%d" % i]) + self.weights["bias_%d" % i])
        out = tf.matmul(tf.concat([first, second, deep], 1), self.weights["concat_projection"])
        self.loss = tf.losses.log_loss(self.label, tf.sigmoid(out))
        self.train_op = tf.train.AdamOptimizer(self.learning_rate).minimize(self.loss)
