"""A list of variables as the table, `embedding_lookup([a, b], ids, partition_strategy="mod")` or `"div"`.

verdict: exact
becomes: `partitioned_lookup([a, b], ids, partition_strategy=…)`: each variable a table, each id reads the row it read
"""

import tensorflow.compat.v1 as tf


def build(ids):
    part_0 = tf.get_variable("part_0", [11, 4])
    part_1 = tf.get_variable("part_1", [10, 4])
    out = tf.nn.embedding_lookup([part_0, part_1], ids, partition_strategy="div")
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
