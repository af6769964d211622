"""`tf.matmul(x, table, transpose_b=True)`, to rank all items, in an evaluation that no loss depends on.

verdict: exact
becomes: `tf.matmul(x, all_rows(table, V), transpose_b=True)`
"""

import tensorflow.compat.v1 as tf


def build(ids):
    item = tf.get_variable("item", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    out = tf.nn.embedding_lookup(item, ids)
    scores = tf.nn.softmax(tf.matmul(out, item, transpose_b=True))
    recall, _ = tf.metrics.recall_at_k(ids, scores, 5)
    tf.summary.scalar("recall", recall)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
