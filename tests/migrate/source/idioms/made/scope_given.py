"""A function that makes its table in the scope that it is given.

verdict: exact
becomes: `name=scoped_name("lookup_table")`: a table in each scope, the same one under reuse
"""

import tensorflow.compat.v1 as tf


def embedding(inputs, rows, units, scope="embedding", reuse=None):
    with tf.variable_scope(scope, reuse=reuse):
        table = tf.get_variable("lookup_table", [rows, units], initializer=tf.random_normal_initializer(stddev=0.5))
        return tf.nn.embedding_lookup(table, inputs)


def build(ids):
    out = embedding(ids, 20, 4, scope="items") * embedding(ids, 20, 4, scope="again")
    out += embedding(ids, 20, 4, scope="items", reuse=True)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
