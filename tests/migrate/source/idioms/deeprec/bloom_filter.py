"""`CBFFilter`, with DeepRec's AdamAsync.

verdict: exact
bound: 0
becomes: `Admission(…, bloom=CountingBloom(…))`, and the optimizer of `runtime.optimizers.deeprec`
"""

import tensorflow.compat.v1 as tf


def build(pairs, label):
    kept = tf.CBFFilter(filter_freq=2, max_element_size=1000, false_positive_probability=0.01, counter_type=tf.uint16)
    table = tf.get_embedding_variable(
        "table",
        embedding_dim=4,
        key_dtype=tf.int32,
        initializer=tf.ones_initializer(tf.float32),
        ev_option=tf.EmbeddingVariableOption(filter_option=kept),
    )
    bias = tf.get_variable("bias", [4], initializer=tf.zeros_initializer())
    out = tf.reduce_sum(tf.nn.embedding_lookup(table, pairs), 1) + bias
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(out, 1) - label))
    return out, loss, tf.train.AdamAsyncOptimizer(0.05).minimize(loss)
