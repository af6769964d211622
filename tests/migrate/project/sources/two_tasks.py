"""Two tasks over shared experts, as a class; TensorFlow 2's names."""

import tensorflow as tf

v1 = tf.compat.v1


class TwoTasks:
    """Gates of two tasks mix the same experts."""

    def __init__(self, experts=3):
        self.experts = experts

    def dense(self, x, units, name):
        w = v1.get_variable(name + "_w", [x.shape[1], units])
        return tf.matmul(x, w) + v1.get_variable(name + "_b", [units], initializer=tf.zeros_initializer())

    def build(self, features, is_training):
        user = v1.get_variable("user", [8, 4], initializer=v1.constant_initializer(0.2))
        item = v1.get_variable("item", [7, 4], initializer=v1.constant_initializer(0.2))
        rows = [tf.nn.embedding_lookup(user, features["user"]), tf.nn.embedding_lookup(item, features["item"])]
        x = tf.concat([*rows, features["dense_feature"]], axis=1)
        experts = tf.stack([tf.nn.relu(self.dense(x, 4, f"expert_{i}")) for i in range(self.experts)], 1)
        found = {}
        for task in ("click", "buy"):
            gate = tf.nn.softmax(self.dense(x, self.experts, f"{task}_gate"))
            found[task] = tf.sigmoid(self.dense(tf.reduce_sum(experts * gate[:, :, None], 1), 1, f"{task}_tower"))
        return found
