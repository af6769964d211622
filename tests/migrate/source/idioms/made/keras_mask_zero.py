"""`Embedding(mask_zero=True)`.

verdict: exact
becomes: the layer of the runtime computes the same mask
"""

import tensorflow as tf

inputs = tf.keras.Input((3,), dtype="int64")
rows = tf.keras.layers.Embedding(20, 4, mask_zero=True, name="item")(inputs)
pooled = tf.keras.layers.GlobalAveragePooling1D()(rows)
model = tf.keras.Model(inputs, tf.keras.layers.Dense(1)(pooled))
model.compile(optimizer=tf.keras.optimizers.SGD(0.5), loss="mse")
