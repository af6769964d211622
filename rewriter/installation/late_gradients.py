"""Gradients of variables that became tables, which the program asks for after its graph was rewritten."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rewriter.apply.partitions import row_keys
from rewriter.installation.whole import Whole


def terms_of(whole: Whole, graph: tf.Graph) -> list[tf.Tensor]:
    """Return the values float32 [2] of the terms over all rows: half the squares, and the absolute values."""
    return [graph.get_operation_by_name(name).outputs[0] for name in whole.made.terms.get(graph, ())]


def joined_gradient(whole: Whole, anchors: list[Any], terms: list[Any], reads: list[Any]) -> Any:
    """Return the gradient of a variable, given those of the table's anchors, terms and reads as a whole.

    It is dense where one of them is, as TensorFlow adds gradients up. An anchor's has terms as rows that only updates
    of tables read: their keys are no ids, and go.
    """
    dense = [one for one in reads if isinstance(one, tf.Tensor)]
    factors = [one for one in terms if one is not None]
    rows = whole.read() if factors and whole.rows is None else whole.rows
    dense += [one[0] * rows + one[1] * tf.sign(rows) for one in factors]
    slices = [_as_variable(whole, one) for one in reads if isinstance(one, tf.IndexedSlices)]
    slices += [_of_anchor(whole, one) for one in anchors if one is not None]
    if dense:
        return tf.add_n([*dense, *map(tf.convert_to_tensor, slices)])
    if len(slices) < 2:
        return slices[0] if slices else None
    values, indices = (tf.concat([getattr(one, part) for one in slices], 0) for part in ("values", "indices"))
    return tf.IndexedSlices(values, indices, slices[0].dense_shape)


def _of_anchor(whole: Whole, gradient: tf.IndexedSlices) -> tf.IndexedSlices:
    """Return the rows of a variable, or of a part of one, whose number in it is not their key."""
    if len(whole.table.pieces) == 1:
        return _as_variable(whole, gradient)
    sums = tf.math.unsorted_segment_sum(gradient.values, gradient.indices, whole.table.rows)
    rows = tf.gather(sums, row_keys(whole.table, whole.part))
    return _as_variable(whole, tf.IndexedSlices(rows, tf.range(whole.shape[0])))


def _as_variable(whole: Whole, gradient: tf.IndexedSlices) -> tf.IndexedSlices:
    values = tf.reshape(gradient.values, [-1, *whole.shape[1:]])
    return tf.IndexedSlices(values, tf.cast(gradient.indices, tf.int64), tf.constant(whole.shape, tf.int64))
