"""The two lists of variables that a training script splits its gradients by."""

from __future__ import annotations

import tensorflow as tf

from runtime.table import tables


def get_dense_and_sparse_variable() -> tuple[list[tf.Variable], list[tf.Variable]]:
    """Return the trainable variables of the current graph and the anchors of its tables."""
    return tf.compat.v1.trainable_variables(), [table.variable for table in tables()]
