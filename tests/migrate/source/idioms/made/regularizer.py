"""`tf.get_variable(…, regularizer=…)`.

verdict: exact
becomes: `regularized(create_table(…), …)`: its term over all rows is among the losses of the graph
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4], regularizer=tf.keras.regularizers.L2(0.1))
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0)) + tf.losses.get_regularization_loss()
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
