"""Rows of this rank, read and written without an exchange, and optimizers that train other variables, too.

verdict: exact
bound: 1e-6
becomes: `local_lookup(…)`, `local_rows(…)`, `snapshot()` and `import_rows(…)`; tables get optimizers of their own
"""

import horovod.tensorflow as hvd
import numpy as np
import sparse_operation_kit as sok
import tensorflow as tf

hvd.init()
sok.init(use_legacy_optimizer=True)

grown = sok.DynamicVariable(dimension=4, initializer="0.5", var_type="hybrid")
fixed = sok.Variable(np.arange(80, dtype=np.float32).reshape(20, 4) / 80)
kernel = tf.Variable(np.arange(8, dtype=np.float32).reshape(8, 1) / 8)
wrapper = sok.OptimizerWrapper(tf.keras.optimizers.SGD(learning_rate=0.1))
shared = tf.keras.optimizers.SGD(0.2)


def step(ids, sparse):
    with tf.GradientTape(persistent=True) as tape:
        rows = tf.concat([tf.nn.embedding_lookup(grown, ids), sok.all2all_dense_embedding(fixed, ids)], 1)
        loss = tf.reduce_mean((rows @ kernel) ** 2) + tf.reduce_mean(sok.lookup_sparse(grown, sparse) ** 2)
    wrapper.apply_gradients(zip(tape.gradient(loss, [grown]), [grown], strict=True))
    shared.apply_gradients(zip(tape.gradient(loss, [fixed]), [fixed], strict=True))
    shared.apply_gradients(zip(tape.gradient(loss, [kernel]), [kernel], strict=True))
    keys, values = sok.export(grown)
    sok.assign(grown, keys, 0.9 * values)
    read, gone, _ = sok.sparse_read_and_evict(grown, ids)
    count = tf.cast(grown.size[0], tf.float32) + tf.cast(tf.size(gone), tf.float32)
    return loss + count + tf.reduce_sum((fixed - 0.25) ** 2) + fixed.numpy()[3, 2] + tf.reduce_sum(read)
