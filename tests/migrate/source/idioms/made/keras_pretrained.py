"""`Embedding(V, D, weights=[matrix])`.

verdict: exact
becomes: the same argument of the runtime's layer: row i of the matrix becomes key i
"""

import numpy as np
import tensorflow as tf

matrix = np.random.RandomState(3).normal(size=(20, 4)).astype(np.float32)
model = tf.keras.Sequential(
    [
        tf.keras.layers.Embedding(20, 4, weights=[matrix], name="item"),
        tf.keras.layers.GlobalAveragePooling1D(),
        tf.keras.layers.Dense(1),
    ]
)
model.compile(optimizer=tf.keras.optimizers.Adam(0.05), loss="mse")
