"""Gradients of tables under `SyncReplicasOptimizer`, whose accumulators want ascending indices, each once.

TensorFlow's accumulator merges the gradients of workers as sorted lists: an index that occurs twice, or out of order,
would not be averaged with that of another worker.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _tf_private_cluster
from runtime.table.anchor import Anchor


def ascending(gradient: tf.IndexedSlices) -> tf.IndexedSlices:
    """Return the same gradient with ascending indices, each once: the gradients of equal ones are summed."""
    with tf.device(gradient.values.device):
        indices, places = tf.unique(gradient.indices)
        values = tf.math.unsorted_segment_sum(gradient.values, places, tf.size(indices))
        order = tf.argsort(indices)
        return tf.IndexedSlices(tf.gather(values, order), tf.gather(indices, order), gradient.dense_shape)


def _of_table(gradient: Any, variable: Any) -> Any:
    return ascending(gradient) if isinstance(variable, Anchor) and isinstance(gradient, tf.IndexedSlices) else gradient


_tf_private_cluster.change_synchronized_gradients(_of_table)
