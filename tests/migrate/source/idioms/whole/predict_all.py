"""A branch of the graph, `tf.cond`, that scores all items by `tf.concat([item_table, rows_of_categories], 1)`.

verdict: in part
says: item; it needs the whole [rows, dim] matrix
becomes: the table of categories moves, that of the items stays
"""

import tensorflow.compat.v1 as tf


def build(ids):
    categories = tf.constant([i % 7 for i in range(20)], tf.int64)
    item = tf.get_variable("item", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    category = tf.get_variable("category", [7, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    parts = [tf.nn.embedding_lookup(item, ids), tf.nn.embedding_lookup(category, tf.gather(categories, ids))]
    out = tf.concat(parts, 1)
    kinds = tf.nn.embedding_lookup(category, categories)
    everything = tf.cond(ids[0] >= 0, lambda: tf.concat([item, kinds], axis=1), lambda: tf.zeros([20, 8]))
    scores = tf.matmul(out, everything, transpose_b=True)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids, logits=scores))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
