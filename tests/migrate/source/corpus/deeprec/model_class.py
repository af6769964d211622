"""DeepRec: a class with options, its tables handed between methods."""

import tensorflow as tf


class DLRM:
    def __init__(self, features, label, use_ev=True):
        self.features, self.label, self.use_ev = features, label, use_ev
        self.create_model()
        self.create_loss()
        self.create_optimizer()

    def table(self, name):
        if self.use_ev:
            return tf.get_embedding_variable(name, embedding_dim=16, key_dtype=tf.int64)
        return tf.get_variable(name, [10000, 16])

    def create_model(self):
        rows = [tf.nn.embedding_lookup(self.table(n), self.features[n]) for n in ("a", "b")]
        self.logits = tf.layers.dense(tf.concat(rows, 1), 1)

    def create_loss(self):
        self.loss = tf.losses.sigmoid_cross_entropy(self.label, self.logits)

    def create_optimizer(self):
        step = tf.train.get_or_create_global_step()
        self.train_op = tf.train.AdagradDecayOptimizer(0.1, step).minimize(self.loss, step)
