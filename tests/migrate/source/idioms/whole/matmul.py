"""`tf.matmul(x, table, transpose_b=True)`, to rank all items.

verdict: assumed
becomes: `tf.matmul(x, all_rows(table, V, trainable=True), transpose_b=True)`, a lookup of all ids in each step
"""

import tensorflow.compat.v1 as tf


def build(ids, pairs):
    item = tf.get_variable("item", [20, 4])
    user = tf.reduce_mean(tf.nn.embedding_lookup(item, pairs), axis=1)
    out = tf.matmul(user, item, transpose_b=True)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids[:6], logits=out))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
