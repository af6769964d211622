"""DeepFM whose loss has an L2 term over all rows."""

import tensorflow.compat.v1 as tf


def build(feature_size, field_size, k=8, decay=1e-4):
    index = tf.placeholder(tf.int64, [None, field_size])
    value = tf.placeholder(tf.float32, [None, field_size])
    label = tf.placeholder(tf.float32, [None])
    w = tf.get_variable("fm_w", [feature_size], initializer=tf.glorot_normal_initializer())
    v = tf.get_variable("fm_v", [feature_size, k], initializer=tf.glorot_normal_initializer())
    first = tf.reduce_sum(tf.nn.embedding_lookup(w, index) * value, 1)
    emb = tf.nn.embedding_lookup(v, index) * tf.reshape(value, [-1, field_size, 1])
    second = 0.5 * tf.reduce_sum(tf.square(tf.reduce_sum(emb, 1)) - tf.reduce_sum(tf.square(emb), 1), 1)
    logit = first + second
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=logit, labels=label))
    loss += decay * tf.nn.l2_loss(w) + decay * tf.nn.l2_loss(v)
    return tf.train.AdamOptimizer(0.001).minimize(loss)
