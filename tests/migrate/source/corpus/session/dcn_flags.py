"""Deep & Cross with flags; the model is built in main."""

import tensorflow.compat.v1 as tf

FLAGS = tf.app.flags.FLAGS
tf.app.flags.DEFINE_integer("feature_size", 10000, "number of features")
tf.app.flags.DEFINE_integer("embedding_size", 16, "size of a row")
tf.app.flags.DEFINE_float("learning_rate", 0.001, "rate")


def cross(x0, xl, index):
    with tf.variable_scope("cross_%d" % index):
        w = tf.get_variable("w", [x0.shape[1], 1])
        b = tf.get_variable("b", [x0.shape[1]], initializer=tf.zeros_initializer())
        return x0 * tf.matmul(xl, w) + b + xl


def main(_):
    ids = tf.placeholder(tf.int64, [None, 5])
    label = tf.placeholder(tf.float32, [None, 1])
    table = tf.get_variable("embedding", [FLAGS.feature_size, FLAGS.embedding_size])
    x0 = tf.reshape(tf.nn.embedding_lookup(table, ids), [-1, 5 * 16])
    x = x0
    for i in range(3):
        x = cross(x0, x, i)
    loss = tf.losses.sigmoid_cross_entropy(label, tf.layers.dense(x, 1))
    train_op = tf.train.AdamOptimizer(FLAGS.learning_rate).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train_op)


if __name__ == "__main__":
    tf.app.run()
