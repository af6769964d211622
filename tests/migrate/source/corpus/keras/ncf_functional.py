"""A functional Keras model of two embeddings."""

import tensorflow as tf

user, item = tf.keras.Input([1], dtype=tf.int64), tf.keras.Input([1], dtype=tf.int64)
u = tf.keras.layers.Flatten()(tf.keras.layers.Embedding(1000, 8, name="user")(user))
i = tf.keras.layers.Flatten()(tf.keras.layers.Embedding(2000, 8, name="item")(item))
x = tf.keras.layers.Dense(16, activation="relu")(tf.keras.layers.Concatenate()([u, i]))
model = tf.keras.Model([user, item], tf.keras.layers.Dense(1, activation="sigmoid")(x))
model.compile(optimizer=tf.keras.optimizers.Adam(0.001), loss="binary_crossentropy")
