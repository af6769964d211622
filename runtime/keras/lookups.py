"""Lookups of layers and variables of Keras, also in loops that AutoGraph makes, and of SparseTensors."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _tf_private_tapes
from runtime.lookup.all_rows import all_rows
from runtime.lookup.sparse import sparse_lookup
from runtime.table.table import Table


def looked_up(table: Table, rows: int, ids: Any, trains: Any = True, name: str | None = None) -> Any:
    """Return the rows of ids; where a gradient leaves a loop, of the matrix of the ids below `rows`, read before it.

    There the gradient of a variable is dense, too: all rows take the step of the optimizer.
    """
    around = _tf_private_tapes.around_loops() if trains is not False and table.trainable else None
    if around is None:
        return sparse_lookup(table, ids, is_train=trains, name=name)
    with around.as_default():
        matrix = all_rows(table, rows, trainable=True)
    if isinstance(ids, tf.RaggedTensor):
        return ids.with_flat_values(tf.gather(matrix, ids.flat_values))
    return tf.gather(matrix, ids, name=name)


def filled(ids: tf.SparseTensor) -> tf.Tensor:
    """Return ids as a dense int64 tensor: as in the layer of Keras 2, what is absent or below 0 reads the row of 0."""
    return tf.maximum(tf.sparse.to_dense(tf.cast(ids, tf.int64), validate_indices=False), 0)


def sparse_rows(ids: tf.SparseTensor, rows: tf.Tensor) -> tf.SparseTensor:
    """Return rows [n, dim] of the n values of `ids` at their places, in a SparseTensor of one more dimension."""
    width = rows.shape[-1]
    count = tf.shape(ids.indices)[0]
    places = tf.repeat(ids.indices, width, axis=0)
    columns = tf.tile(tf.range(width, dtype=tf.int64), [count])[:, None]
    shape = tf.concat([ids.dense_shape, tf.constant([width], tf.int64)], 0)
    return tf.SparseTensor(tf.concat([places, columns], 1), tf.reshape(rows, [-1]), shape)
