"""DeepRec: an EmbeddingVariable for each feature."""

import tensorflow as tf

ids = {name: tf.placeholder(tf.int64, [None]) for name in ("user", "item")}
label = tf.placeholder(tf.float32, [None, 1])
rows = []
for name in ("user", "item"):
    table = tf.get_embedding_variable(
        name, embedding_dim=8, key_dtype=tf.int64, initializer=tf.ones_initializer(tf.float32)
    )
    rows.append(tf.nn.embedding_lookup(table, ids[name]))
loss = tf.losses.sigmoid_cross_entropy(label, tf.layers.dense(tf.concat(rows, 1), 1))
train_op = tf.train.AdagradOptimizer(0.1).minimize(loss, tf.train.get_or_create_global_step())
