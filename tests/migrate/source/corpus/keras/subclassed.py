"""A subclassed model with its own training step."""

import tensorflow as tf


class Net(tf.keras.Model):
    def __init__(self, sizes):
        super().__init__()
        self.tables = [tf.keras.layers.Embedding(size, 8) for size in sizes]
        self.out = tf.keras.layers.Dense(1)

    def call(self, inputs):
        rows = [table(inputs[:, n]) for n, table in enumerate(self.tables)]
        return self.out(tf.concat(rows, 1))


model = Net([100, 200])
optimizer = tf.keras.optimizers.Adagrad(0.1)


@tf.function
def step(ids, labels):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(ids) - labels))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss
