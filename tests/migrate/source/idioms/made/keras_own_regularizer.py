"""`Embedding(embeddings_regularizer=f)`, with a function of one's own.

verdict: changes values
becomes: `rows_regularizer=`, over the distinct rows of the batch
batch: every row is in each batch, then both are the same
"""

import tensorflow as tf


def decay(rows):
    return 0.01 * tf.reduce_sum(tf.square(rows))


model = tf.keras.Sequential(
    [
        tf.keras.layers.Embedding(20, 4, embeddings_regularizer=decay, name="item"),
        tf.keras.layers.GlobalAveragePooling1D(),
        tf.keras.layers.Dense(1),
    ]
)
model.compile(optimizer=tf.keras.optimizers.SGD(0.5), loss="mse")
