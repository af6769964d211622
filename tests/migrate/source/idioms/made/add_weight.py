"""`add_weight` of a Keras layer, indexed by position.

verdict: left alone
"""

import tensorflow as tf


class Positions(tf.keras.layers.Layer):
    def build(self, shape):
        self.table = self.add_weight(name="positions", shape=[int(shape[1]), 4])

    def call(self, inputs):
        return inputs + tf.nn.embedding_lookup(self.table, tf.range(inputs.shape[1]))
