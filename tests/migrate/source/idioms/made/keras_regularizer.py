"""`Embedding(embeddings_regularizer=…)`.

verdict: exact
becomes: the same argument of the runtime's layer, a term over all rows
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
