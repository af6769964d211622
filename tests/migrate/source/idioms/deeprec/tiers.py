"""`StorageOption` with a tier on disk, and DeepRec's AdagradDecay.

verdict: exact
bound: 0
becomes: `Storage("dram_ssdhash", …)` in the rules
"""

import tempfile

import tensorflow.compat.v1 as tf
from tensorflow.core.framework.embedding import config_pb2


def build(ids):
    storage = tf.StorageOption(
        storage_type=config_pb2.StorageType.DRAM_SSDHASH, storage_path=tempfile.mkdtemp(), storage_size=[128, 1 << 20]
    )
    option = tf.EmbeddingVariableOption(storage_option=storage)
    table = tf.get_embedding_variable("table", 4, initializer=tf.random_normal_initializer(seed=3), ev_option=option)
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.AdagradDecayOptimizer(0.3, step, accumulator_decay_step=2, accumulator_decay_rate=0.5)
    return out, loss, optimizer.minimize(loss, global_step=step)
