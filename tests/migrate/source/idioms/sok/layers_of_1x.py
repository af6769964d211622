"""The layers of SOK 1.x, trained by an optimizer of Keras.

verdict: assumed
becomes: a table each; a call is a lookup, reshaped to the slots
"""

import horovod.tensorflow as hvd
import sparse_operation_kit as sok
import tensorflow as tf

hvd.init()
sok.Init(global_batch_size=8)


class Model(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.pooled = sok.DistributedEmbedding("Mean", 20, 4, 2, 5, embedding_initializer=tf.ones_initializer())
        self.rows = sok.All2AllDenseEmbedding(20, 4, 2, 1, embedding_initializer=tf.ones_initializer())

    def call(self, inputs, training=True):
        pooled, rows = self.pooled(inputs[1], training=training), self.rows(inputs[0], training=training)
        return tf.reduce_sum(pooled, [1, 2]) + tf.reduce_sum(rows)


model = Model()
optimizer = tf.keras.optimizers.Adam(0.1)


def step(ids, sparse):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((model([tf.reshape(ids[:6], [3, 2, 1]), sparse]) - 3.0) ** 2)
    tables, _ = sok.split_embedding_variable_from_others(model.trainable_variables)
    grads = tape.gradient(loss, tables)
    with sok.OptimizerScope(tables):
        optimizer.apply_gradients(zip(grads, tables, strict=True), experimental_aggregate_gradients=False)
    return loss
