"""Reads tensors of a checkpoint inside a graph, and tests which tables it has, as RestoreV2 fails on a missing one."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from runtime import _tf_private


def restored(prefix: str | tf.Tensor, names: Sequence[str | tf.Tensor], types: Sequence[tf.DType]) -> list[tf.Tensor]:
    """Return whole tensors of the checkpoint `prefix`."""
    return list(
        tf.raw_ops.RestoreV2(
            prefix=prefix, tensor_names=list(names), shape_and_slices=[""] * len(names), dtypes=list(types)
        )
    )


def tables_in(prefix: tf.Tensor, names: Sequence[str]) -> list[tf.Tensor]:
    """Return for each name a bool tensor: whether the checkpoint `prefix` has a table with that name.

    A table has metadata beside its rows, unlike a variable. Datasets are used since they can ignore an error, also if
    another program runs the graph.
    """

    @_tf_private.as_written
    def recmigrate_table(name: tf.Tensor) -> tf.Tensor:
        (meta,) = restored(prefix, [name + "-meta"], [tf.int64])
        with tf.control_dependencies([meta]):
            return tf.identity(name)

    with tf.device("/device:CPU:0"):
        present = tf.data.Dataset.from_tensor_slices(list(names)).map(recmigrate_table).ignore_errors()
        # The extra element keeps the dataset from being empty, in which case there would be no result.
        there = tf.data.Dataset.from_tensors("").concatenate(present).batch(len(names) + 1).get_single_element()
        return [tf.reduce_any(tf.equal(there, name)) for name in names]
