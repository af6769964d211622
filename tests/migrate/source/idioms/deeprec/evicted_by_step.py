"""`GlobalStepEvict`, with parts and DeepRec's AdamW.

verdict: exact
bound: 0
becomes: `Eviction(steps_to_live=…)`; the partitioner goes
"""

import tensorflow.compat.v1 as tf


def build(sparse):
    table = tf.get_embedding_variable(
        "table",
        embedding_dim=4,
        initializer=tf.ones_initializer(tf.float32),
        partitioner=tf.fixed_size_partitioner(num_shards=2),
        ev_option=tf.EmbeddingVariableOption(evict_option=tf.GlobalStepEvict(steps_to_live=1)),
    )
    out = tf.nn.safe_embedding_lookup_sparse(table, sparse, combiner="mean")
    loss = tf.reduce_mean(tf.square(out - 2.0))
    step = tf.train.get_or_create_global_step()
    return out, loss, tf.train.AdamWOptimizer(0.01, learning_rate=0.1).minimize(loss, global_step=step)
