"""Rows and slots in a directory, from which training goes on.

verdict: exact
bound: 1e-6
becomes: `checkpoint.save_tables(…)` and `checkpoint.restore_tables(…)`, by the names of the tables
"""

import tempfile

import horovod.tensorflow as hvd
import sparse_operation_kit as sok
import tensorflow as tf

hvd.init()
sok.init(use_legacy_optimizer=True)

item = sok.DynamicVariable(dimension=4, initializer="0.5", name="item")
user = sok.DynamicVariable(dimension=4, initializer="0.25", name="user")
inner = tf.keras.optimizers.Adagrad(learning_rate=0.5)
optimizer = sok.OptimizerWrapper(inner)
folder = tempfile.mkdtemp()


def train(sparse, tables):
    with tf.GradientTape() as tape:
        rows = sok.lookup_sparse(tables, [sparse, sparse], combiners=["sum", "mean"])
        loss = tf.reduce_mean((rows[0] - rows[1]) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, tables), tables, strict=True))
    return loss


def step(ids, sparse):
    tables = [item, user]
    train(sparse, tables)
    sok.dump(folder, tables, optimizer)
    between = train(sparse, tables)
    sok.load(folder, tables, [optimizer])
    again = train(sparse, tables)
    sok.load(folder, item)
    return 2.0 * between + again + train(sparse, tables) + 0.0 * tf.reduce_sum(tf.cast(ids, tf.float32))
