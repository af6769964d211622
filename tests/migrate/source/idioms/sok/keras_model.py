"""A Keras layer that holds its variables, with dense layers of which Horovod takes the mean.

verdict: assumed
becomes: tables beside `model.trainable_variables`, and `ranks.reduced_gradients(…)` for what is dense
"""

import horovod.tensorflow as hvd
import sparse_operation_kit as sok
import tensorflow as tf

hvd.init()
sok.init()


class Model(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.table = sok.DynamicVariable(dimension=4, initializer="0.5", name="item")
        self.top = tf.keras.layers.Dense(1, kernel_initializer="ones")

    def call(self, sparse):
        return self.top(sok.lookup_sparse(self.table, sparse, combiners="mean"))


model = Model()
sparse_optimizer = sok.OptimizerWrapper(tf.keras.optimizers.SGD(0.2))
dense_optimizer = tf.keras.optimizers.SGD(0.1)


@tf.function
def step(ids, sparse):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(sparse) - 1.0) ** 2)
    tables, others = sok.filter_variables(model.trainable_variables)
    table_grads, grads = tape.gradient(loss, [tables, others])
    sparse_optimizer.apply_gradients(zip(table_grads, tables, strict=True))
    grads = [hvd.allreduce(grad) for grad in grads]
    dense_optimizer.apply_gradients(zip(grads, others, strict=True))
    return loss
