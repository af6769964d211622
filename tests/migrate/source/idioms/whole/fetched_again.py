"""`session.run(table)` in a loop: each run would add a read to the graph.

verdict: stays
says: table; it reads all rows at once
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
