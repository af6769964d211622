"""`session.run(table)` in a loop: all runs share one read in the graph.

verdict: exact
becomes: `session.run(all_rows(table, V, once=True))`
"""

import tensorflow.compat.v1 as tf


def build(ids):
    table = tf.get_variable("table", [20, 4])
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    train_op = tf.train.AdagradOptimizer(0.3).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            print(session.run(table))
    return out, loss, train_op
