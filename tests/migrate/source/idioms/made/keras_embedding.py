"""`tf.keras.layers.Embedding(V, D)`, made once.

verdict: exact
becomes: `runtime.keras.Embedding`, with the same arguments
"""

import tensorflow as tf


def build():
    return tf.keras.Sequential(
        [
            tf.keras.layers.Embedding(20, 4, embeddings_initializer="uniform", name="item"),
            tf.keras.layers.GlobalAveragePooling1D(),
            tf.keras.layers.Dense(1),
        ]
    )


model = build()
model.compile(optimizer=tf.keras.optimizers.Adagrad(0.3), loss="mse")
