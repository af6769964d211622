"""Two models that play against each other, each with the list of its variables and an optimizer of its own.

verdict: exact
becomes: the lists are taken apart when the program runs; a list that is bound to nothing at first counts no more
"""

import tensorflow.compat.v1 as tf


class Finder:
    def __init__(self, pairs):
        self.params = []
        with tf.variable_scope("finder"):
            self.rows = tf.get_variable("rows", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
            self.bias = tf.get_variable("bias", [], initializer=tf.zeros_initializer())
        self.params = [self.rows, self.bias]
        self.score = tf.reduce_sum(tf.nn.embedding_lookup(self.rows, pairs), axis=[1, 2]) + self.bias


class Maker:
    def __init__(self, pairs):
        self.params = []
        with tf.variable_scope("maker"):
            self.rows = tf.get_variable("rows", [20, 4], initializer=tf.random_normal_initializer(stddev=0.5))
            self.bias = tf.get_variable("bias", [], initializer=tf.zeros_initializer())
        self.params = [self.rows, self.bias]
        self.score = tf.reduce_sum(tf.nn.embedding_lookup(self.rows, pairs), axis=[1, 2]) + self.bias


def build(pairs, label):
    finder, maker = Finder(pairs), Maker(pairs)
    found = tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=finder.score - maker.score)
    loss, against = tf.reduce_mean(found), tf.reduce_mean(tf.stop_gradient(finder.score) * tf.sigmoid(maker.score))
    step = tf.train.AdagradOptimizer(0.1).minimize(loss, var_list=finder.params)
    other = tf.train.GradientDescentOptimizer(0.2).minimize(against, var_list=maker.params)
    return finder.score, loss, tf.group(step, other)
