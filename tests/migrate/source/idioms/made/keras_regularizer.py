"""`Embedding(embeddings_regularizer=…)`.

verdict: changes values
becomes: `rows_regularizer=`, over the distinct rows of the batch
batch: every row is in each batch, then both are the same
"""

import tensorflow as tf

model = tf.keras.Sequential(
    [
        tf.keras.layers.Embedding(20, 4, embeddings_regularizer=tf.keras.regularizers.L2(0.01), name="item"),
        tf.keras.layers.GlobalAveragePooling1D(),
        tf.keras.layers.Dense(1),
    ]
)
model.compile(optimizer=tf.keras.optimizers.SGD(0.5), loss="mse")
