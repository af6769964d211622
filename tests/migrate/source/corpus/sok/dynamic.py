"""SOK: dynamic variables, looked up together, with its optimizer."""

import sparse_operation_kit as sok
import tensorflow as tf

sok.init()
users = sok.DynamicVariable(dimension=8, initializer="random", name="users")
items = sok.DynamicVariable(dimension=8, initializer="random", name="items")
dense = tf.keras.layers.Dense(1)
optimizer, sparse = tf.keras.optimizers.Adam(0.001), sok.OptimizerWrapper(tf.keras.optimizers.Adam(0.001))


@tf.function
def step(user, item, label):
    with tf.GradientTape() as tape:
        u, i = sok.lookup_sparse([users, items], [user, item], combiners=["sum", "mean"])
        loss = tf.reduce_mean(tf.square(dense(tf.concat([u, i], 1)) - label))
    grads = tape.gradient(loss, [users, items, *dense.trainable_variables])
    sparse.apply_gradients(zip(grads[:2], [users, items]))
    optimizer.apply_gradients(zip(grads[2:], dense.trainable_variables))
    return loss
