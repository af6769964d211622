"""A layer of its own that makes the table by `add_weight`."""

import tensorflow as tf


class Rows(tf.keras.layers.Layer):
    def __init__(self, size, dim, **kwargs):
        super().__init__(**kwargs)
        self.size, self.dim = size, dim

    def build(self, shape):
        self.table = self.add_weight(name="table", shape=(self.size, self.dim), initializer="uniform")
        super().build(shape)

    def call(self, ids):
        return tf.nn.embedding_lookup(self.table, ids)


ids = tf.keras.Input([3], dtype=tf.int64)
x = tf.keras.layers.Flatten()(Rows(1000, 8)(ids))
model = tf.keras.Model(ids, tf.keras.layers.Dense(1)(x))
model.compile(optimizer="adam", loss="mse")
