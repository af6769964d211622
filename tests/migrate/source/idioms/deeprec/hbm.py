"""A storage type with the memory of a GPU.

verdict: stays
says: ; the storage type HBM_DRAM keeps rows on a GPU
"""

import tensorflow.compat.v1 as tf
from tensorflow.core.framework.embedding import config_pb2


def build(ids):
    storage = tf.StorageOption(storage_type=config_pb2.StorageType.HBM_DRAM, storage_size=[1 << 30, 1 << 33])
    option = tf.EmbeddingVariableOption(storage_option=storage)
    table = tf.get_embedding_variable("table", embedding_dim=4, ev_option=option)
    out = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(out - 1.0))
    return out, loss, tf.train.AdagradOptimizer(0.3).minimize(loss)
