"""`CounterFilter` and `InitializerOption`, with a pooled lookup.

verdict: exact
bound: 0
becomes: `KeyRules(admission=Admission(…), initial=InitialRows(…))`
"""

import tensorflow.compat.v1 as tf


def build(sparse, weights):
    start = tf.InitializerOption(
        initializer=tf.random_uniform_initializer(-1, 1, seed=5), default_value_dim=7, default_value_no_permission=0.25
    )
    option = tf.EmbeddingVariableOption(filter_option=tf.CounterFilter(filter_freq=2), init_option=start)
    table = tf.get_embedding_variable("table", embedding_dim=4, ev_option=option)
    out = tf.nn.embedding_lookup_sparse(table, sparse, weights, combiner="sum")
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdamOptimizer(0.1).minimize(loss)
