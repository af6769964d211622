"""Keras `Embedding` layers made in a loop or a comprehension.

verdict: exact
becomes: the loop stays, one table for each layer
"""

import tensorflow as tf


class Towers(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.tables = {key: tf.keras.layers.Embedding(20, 4, name=key) for key in ("user", "item")}
        self.head = tf.keras.layers.Dense(1)

    def call(self, pairs):
        user, item = self.tables["user"](pairs[:, 0]), self.tables["item"](pairs[:, 1])
        return self.head(tf.concat([user, item, user * item], axis=1))


model = Towers()
model.compile(optimizer=tf.keras.optimizers.Adam(0.05), loss="mse")
