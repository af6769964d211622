"""Variables of a fixed size, of given values and of an initializer.

verdict: exact
bound: 1e-5
becomes: `table_of_rows(…)` and `create_table(…)`
"""

import horovod.tensorflow as hvd
import numpy as np
import sparse_operation_kit as sok
import tensorflow as tf

hvd.init()
sok.init()

first = sok.Variable(np.arange(80).reshape(20, 4) / 80, dtype=tf.float32)
second = sok.Variable(shape=[20, 4], initializer=tf.ones_initializer(), name="second")
optimizer = sok.OptimizerWrapper(tf.keras.optimizers.Adam(0.1))


def step(ids, sparse):
    with tf.GradientTape() as tape:
        rows = sok.all2all_dense_embedding(first, ids)
        loss = tf.reduce_mean(rows**2) + tf.reduce_mean(sok.lookup_sparse(second, sparse, combiners="sum") ** 2)
    grads = tape.gradient(loss, [first, second])
    optimizer.apply_gradients(zip(grads, [first, second], strict=True))
    return loss
