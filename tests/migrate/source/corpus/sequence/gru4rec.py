"""GRU4Rec: rows of the softmax are looked up by the items of the batch."""

import tensorflow.compat.v1 as tf


class GRU4Rec:
    def __init__(self, n_items, rnn_size=100):
        self.n_items, self.rnn_size = n_items, rnn_size
        self.X, self.Y = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
        with tf.variable_scope("gru_layer"):
            sigma = (6.0 / (n_items + rnn_size)) ** 0.5
            initializer = tf.random_uniform_initializer(minval=-sigma, maxval=sigma)
            embedding = tf.get_variable("embedding", [n_items, rnn_size], initializer=initializer)
            softmax_W = tf.get_variable("softmax_w", [n_items, rnn_size], initializer=initializer)
            softmax_b = tf.get_variable("softmax_b", [n_items], initializer=tf.constant_initializer(0.0))
        inputs = tf.nn.embedding_lookup(embedding, self.X)
        output = tf.layers.dense(inputs, rnn_size, tf.nn.tanh)
        sampled_W = tf.nn.embedding_lookup(softmax_W, self.Y)
        sampled_b = tf.nn.embedding_lookup(softmax_b, self.Y)
        logits = tf.matmul(output, sampled_W, transpose_b=True) + sampled_b
        self.cost = -tf.reduce_mean(tf.log(tf.diag_part(tf.nn.softmax(logits)) + 1e-24))
        optimizer = tf.train.AdamOptimizer(0.001)
        tvars = tf.trainable_variables()
        gvs = optimizer.compute_gradients(self.cost, tvars)
        capped = [(tf.clip_by_norm(grad, 5.0), var) for grad, var in gvs]
        self.train_op = optimizer.apply_gradients(capped)
