"""A DeepFM as a function of its features, in TensorFlow 1's names, in a file that also trains it."""

import numpy as np
import tensorflow as tf

# how wide a row is
DIM = 4
FILES = np.array(["day_0"])


def dense(x, name, units):
    w = tf.get_variable(name + "_w", [x.shape[-1], units])
    b = tf.get_variable(name + "_b", [units], initializer=tf.zeros_initializer())
    return tf.matmul(x, w) + b


def deepfm(features, hidden=6):
    ones = tf.constant_initializer(0.3)
    user = tf.get_variable("user_embedding", [8, DIM], initializer=ones)
    item = tf.get_variable("item_embedding", [7, DIM], initializer=ones)
    wide = tf.get_variable("user_bias", [8, 1], initializer=tf.zeros_initializer())
    vectors = tf.stack(
        [tf.nn.embedding_lookup(user, features["user"]), tf.nn.embedding_lookup(item, features["item"])], axis=1
    )
    first = tf.nn.embedding_lookup(wide, features["user"])
    total = tf.reduce_sum(vectors, axis=1)
    second = 0.5 * tf.reduce_sum(total**2 - tf.reduce_sum(vectors**2, axis=1), axis=1, keepdims=True)
    x = tf.concat([tf.reshape(vectors, [-1, 2 * DIM]), features["dense_feature"]], 1)
    deep = dense(tf.nn.relu(dense(x, "hidden", hidden)), "out", 1)
    return tf.sigmoid(first + second + deep)


def train(files):
    features = {"user": tf.placeholder(tf.int64, [None]), "item": tf.placeholder(tf.int64, [None])}
    tf.train.AdamOptimizer().minimize(tf.reduce_sum(deepfm(features)))


if __name__ == "__main__":
    train(FILES)
