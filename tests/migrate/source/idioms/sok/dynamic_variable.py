"""Variables that grow, `lookup_sparse` and a gradient tape.

verdict: exact
becomes: `create_table(…)` and one `grouped_embedding_lookup_sparse(…)`; the ranks of the runtime in Horovod's place
"""

import horovod.tensorflow as hvd
import sparse_operation_kit as sok
import tensorflow as tf

hvd.init()
sok.init()
first = sok.DynamicVariable(dimension=4, initializer="0.5", var_type="hbm")
second = sok.DynamicVariable(dimension=4, initializer="-0.25")
optimizer = sok.OptimizerWrapper(tf.keras.optimizers.Adam(0.1))


@tf.function
def step(ids, sparse):
    with tf.GradientTape() as tape:
        out = sok.lookup_sparse([first, second], [sparse, sparse], combiners=["sum", "mean"])
        loss = tf.reduce_sum((out[0] - 2.0 * out[1] - 3.0) ** 2) + 0.0 * tf.reduce_sum(tf.cast(ids, tf.float32))
    grads = tape.gradient(loss, [first, second])
    optimizer.apply_gradients(zip(grads, [first, second], strict=True))
    return hvd.allreduce(loss, op=hvd.Sum)
