"""Scores of all items by the transposed table of an Embedding layer."""

import tensorflow as tf

ids = tf.keras.Input([10], dtype=tf.int64)
layer = tf.keras.layers.Embedding(1000, 8)
x = tf.keras.layers.GRU(8)(layer(ids))
scores = tf.keras.layers.Lambda(lambda x: tf.matmul(x, layer.embeddings, transpose_b=True))(x)
model = tf.keras.Model(ids, scores)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
