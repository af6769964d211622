"""Sonnet's `snt.Embed`.

verdict: left alone
"""

import sonnet as snt
import tensorflow.compat.v1 as tf


def build(ids):
    embed = snt.Embed(20, 4)
    out = embed(ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
