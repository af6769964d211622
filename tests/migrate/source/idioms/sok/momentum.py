"""Momentum of Keras, which SOK runs on the rows of the batch.

verdict: exact
bound: 1e-6
becomes: `momentum.create_hash_optimizer(…)`
"""

import sparse_operation_kit as sok
import tensorflow as tf

sok.init()

item = sok.DynamicVariable(dimension=4, initializer="0.5")
optimizer = sok.OptimizerWrapper(tf.keras.optimizers.SGD(learning_rate=0.1, momentum=0.9, nesterov=True))


def step(ids, sparse):
    with tf.GradientTape() as tape:
        rows = sok.all2all_dense_embedding(item, ids)
        loss = tf.reduce_sum(rows**2) + tf.reduce_sum(sok.lookup_sparse(item, sparse, combiners="sum") ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, [item]), [item], strict=True))
    return loss
