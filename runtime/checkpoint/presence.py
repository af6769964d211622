"""Tells in a graph which tables a checkpoint holds: a RestoreV2 of a tensor that is not there fails."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from runtime import _tf_private

__all__ = ["tables_in"]


def tables_in(prefix: tf.Tensor, names: Sequence[str]) -> list[tf.Tensor]:
    """Return for each name whether the checkpoint `prefix` has a table of that name: booleans.

    A table has its meta data beside its rows, and a variable does not. Datasets are what can pass over an error
    in a graph that also other programs run.
    """

    @_tf_private.as_written
    def recmigrate_table(name: tf.Tensor) -> tf.Tensor:
        (meta,) = tf.raw_ops.RestoreV2(
            prefix=prefix, tensor_names=[name + "-meta"], shape_and_slices=[""], dtypes=[tf.int64]
        )
        with tf.control_dependencies([meta]):
            return tf.identity(name)

    with tf.device("/device:CPU:0"):
        found = tf.data.Dataset.from_tensor_slices(list(names)).map(recmigrate_table).ignore_errors()
        # There is always one, since an empty dataset gives no element.
        there = tf.data.Dataset.from_tensors("").concatenate(found).batch(len(names) + 1).get_single_element()
        return [tf.reduce_any(tf.equal(there, name)) for name in names]
