"""An Embedding layer for each feature, made in a loop over a dict, with a regularizer that is an option."""

import tensorflow as tf


def build(sizes, l2=0.0):
    inputs, rows = {}, []
    for name, size in sizes.items():
        inputs[name] = tf.keras.Input([1], name=name, dtype=tf.int32)
        layer = tf.keras.layers.Embedding(
            size, 4, embeddings_regularizer=tf.keras.regularizers.l2(l2), name="emb_" + name
        )
        rows.append(layer(inputs[name]))
    x = tf.keras.layers.Flatten()(tf.keras.layers.concatenate(rows))
    model = tf.keras.Model(list(inputs.values()), tf.keras.layers.Dense(1)(x))
    model.compile("sgd", "mse")
    return model


model = build({"user": 100, "item": 200})
