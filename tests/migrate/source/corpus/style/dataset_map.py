"""Ids are hashed in a dataset; features come from an iterator."""

import tensorflow.compat.v1 as tf


def parse(line):
    user, item, label = tf.decode_csv(line, [[""], [""], [0.0]])
    return tf.strings.to_hash_bucket_fast(user, 1000), tf.strings.to_hash_bucket_fast(item, 2000), label


data = tf.data.TextLineDataset("train.csv").map(parse).batch(32)
user, item, label = tf.data.make_one_shot_iterator(data).get_next()
u = tf.nn.embedding_lookup(tf.get_variable("user", [1000, 8]), user)
i = tf.nn.embedding_lookup(tf.get_variable("item", [2000, 8]), item)
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=tf.reduce_sum(u * i, 1)))
train_op = tf.train.AdamOptimizer(0.01).minimize(loss)
