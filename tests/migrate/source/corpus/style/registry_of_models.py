"""Models are registered by a decorator and chosen by a flag; the base class trains."""

import tensorflow.compat.v1 as tf

MODELS = {}


def register(name):
    def inner(cls):
        MODELS[name] = cls
        return cls

    return inner


class Model:
    def __init__(self, ids, label):
        self.logit = self.forward(ids)
        self.loss = tf.losses.sigmoid_cross_entropy(label, self.logit)

    def forward(self, ids):
        raise NotImplementedError

    def train(self, rate):
        return tf.train.AdagradOptimizer(rate).minimize(self.loss)


@register("lr")
class LR(Model):
    def forward(self, ids):
        table = tf.get_variable("lr", [1000, 1])
        return tf.reduce_sum(tf.nn.embedding_lookup(table, ids), 1)


@register("dnn")
class DNN(Model):
    def forward(self, ids):
        table = tf.get_variable("dnn", [1000, 8])
        return tf.layers.dense(tf.layers.flatten(tf.nn.embedding_lookup(table, ids)), 1)


ids, label = tf.placeholder(tf.int64, [None, 4]), tf.placeholder(tf.float32, [None, 1])
train_op = MODELS["dnn"](ids, label).train(0.1)
