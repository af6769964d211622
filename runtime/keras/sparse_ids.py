"""SparseTensors in the `Embedding` of Keras 2: ids that are one, and with `sparse=True` rows that are one."""

from __future__ import annotations

import tensorflow as tf

__all__ = ["filled", "sparse_rows"]


def filled(ids: tf.SparseTensor) -> tf.Tensor:
    """Return the ids as a dense int64 tensor: as in the stock layer, what is absent or below 0 reads the row of 0."""
    return tf.maximum(tf.sparse.to_dense(tf.cast(ids, tf.int64), validate_indices=False), 0)


def sparse_rows(ids: tf.SparseTensor, rows: tf.Tensor) -> tf.SparseTensor:
    """Return rows [n, dim] of the n values of `ids` at their places, in a SparseTensor of one more dimension."""
    width = rows.shape[-1]
    count = tf.shape(ids.indices)[0]
    places = tf.repeat(ids.indices, width, axis=0)
    columns = tf.tile(tf.range(width, dtype=tf.int64), [count])[:, None]
    shape = tf.concat([ids.dense_shape, tf.constant([width], tf.int64)], 0)
    return tf.SparseTensor(tf.concat([places, columns], 1), tf.reshape(rows, [-1]), shape)
