"""SOK 1.x: an embedding layer in a Keras model."""

import sparse_operation_kit as sok
import tensorflow as tf


class Model(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.embedding = sok.DistributedEmbedding(
            combiner="sum", max_vocabulary_size_per_gpu=1024, embedding_vec_size=8, slot_num=3, max_nnz=4
        )
        self.out = tf.keras.layers.Dense(1)

    def call(self, inputs, training=True):
        return self.out(tf.reshape(self.embedding(inputs, training=training), [-1, 24]))


model = Model()
