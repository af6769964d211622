"""`L2WeightEvict`, and an option that a flag chooses.

verdict: exact
bound: 0
becomes: `Eviction(least_norm=…)`; what chooses stays
"""

import tensorflow.compat.v1 as tf

BY_NORM = True


def build(ids):
    evict = tf.L2WeightEvict(l2_weight_threshold=1.5) if BY_NORM else tf.GlobalStepEvict(100)
    option = tf.EmbeddingVariableOption(evict_option=evict, filter_option=None)
    with tf.variable_scope("model", partitioner=None):
        table = tf.get_embedding_variable(
            "table", 4, initializer=tf.random_normal_initializer(seed=3), ev_option=option
        )
        out = tf.nn.embedding_lookup([table], ids, max_norm=1.75)
    loss = tf.reduce_mean(tf.square(out - 0.5))
    return out, loss, tf.train.GradientDescentOptimizer(0.9).minimize(loss)
