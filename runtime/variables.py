"""The two lists of variables that a training script splits its gradients by."""

from __future__ import annotations

import tensorflow as tf

from runtime.table import tables


def get_dense_and_sparse_variable() -> tuple[list[tf.Variable], list[tf.Variable]]:
    """Return the trainable variables of the current graph and the anchors of its tables.

    The variables of counted tables, which stock optimizers train, are among the former.

    Raises:
        RuntimeError: called in eager mode.
    """
    with tf.init_scope():
        if tf.executing_eagerly():
            raise RuntimeError(
                "get_dense_and_sparse_variable lists the variables of a v1 graph, and eager mode keeps no such list: "
                "take model.trainable_variables, and table.variable of each table"
            )
    return tf.compat.v1.trainable_variables(), [table.variable for table in tables() if not table.reads_each_step]
