import tensorflow.compat.v1 as tf


def embedding(ids, rows, width):
    with tf.variable_scope("item"):
        table = tf.get_variable("table", [rows, width], initializer=tf.random_normal_initializer(stddev=0.5))
    return tf.nn.embedding_lookup(table, ids), table
