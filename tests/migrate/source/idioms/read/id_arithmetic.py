"""Ids made by `%`, by offsets, by hashing of strings.

verdict: exact
becomes: the arithmetic stays as it is
"""

import tensorflow.compat.v1 as tf


def build(ids, words):
    table = tf.get_variable("table", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
    hashed = tf.strings.to_hash_bucket_fast(words, 12) + 8
    out = tf.nn.embedding_lookup(table, ids[:6] * 31 % 8) + tf.nn.embedding_lookup(table, hashed)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
