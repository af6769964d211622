"""A mixin takes the gradients and clips them with a function of its own module."""

import tensorflow.compat.v1 as tf


def clip_all(pairs, norm):
    kept = [(g, v) for g, v in pairs if g is not None]
    grads, variables = zip(*kept)
    clipped, _ = tf.clip_by_global_norm(grads, norm)
    return list(zip(clipped, variables))


class Training:
    norm = 5.0

    def train(self):
        optimizer = tf.train.AdamOptimizer(self.rate)
        return optimizer.apply_gradients(clip_all(optimizer.compute_gradients(self.loss), self.norm))


class Model(Training):
    def __init__(self, rate):
        self.rate = rate
        self.ids = tf.placeholder(tf.int64, [None])
        self.table = tf.get_variable("items", [1000, 8])
        self.loss = tf.reduce_sum(tf.layers.dense(tf.nn.embedding_lookup(self.table, self.ids), 1))


train_op = Model(0.1).train()
