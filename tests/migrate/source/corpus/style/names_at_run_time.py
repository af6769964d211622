"""Tables are attributes whose names are made at run time."""

import tensorflow.compat.v1 as tf


class Model:
    def __init__(self, sizes):
        for name, size in sizes.items():
            setattr(self, name + "_table", tf.get_variable(name, [size, 8]))

    def rows(self, name, ids):
        return tf.nn.embedding_lookup(getattr(self, name + "_table"), ids)


ids = tf.placeholder(tf.int64, [None])
model = Model({"user": 100, "item": 200})
x = model.rows("user", ids) + model.rows("item", ids)
train_op = tf.train.AdamOptimizer().minimize(tf.reduce_sum(tf.layers.dense(x, 1)))
