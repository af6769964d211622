"""A list of variables that is passed to the step, each rank with its share of the batch.

verdict: exact
becomes: the same list of tables; gradients are taken of `[table.variable for table in …]`
"""

import horovod.tensorflow as hvd
import sparse_operation_kit as sok
import tensorflow as tf

hvd.init()
sok.init()
dims, starts = [4, 2], [13, 17]
tables = [sok.DynamicVariable(dimension=dims[i], initializer=str(starts[i])) for i in range(2)]
optimizer = sok.OptimizerWrapper(tf.keras.optimizers.Adagrad(learning_rate=0.5))


def update(params, ids):
    with tf.GradientTape() as tape:
        out = sok.lookup_sparse(params, [ids, ids], combiners=["mean", "sum"])
        loss = tf.add_n([tf.reduce_sum(one**2) for one in out])
    optimizer.apply_gradients(zip(tape.gradient(loss, params), params, strict=True))
    return loss


def step(ids, sparse):
    return update(tables, sparse) / (hvd.size() + hvd.rank())
