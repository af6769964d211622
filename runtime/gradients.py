"""The gradient of a lookup: IndexedSlices for the anchor, with the keys as indices."""

from __future__ import annotations

import tensorflow as tf


def _lookup_gradient(op: tf.Operation, gradient: tf.Tensor) -> tuple[None, tf.IndexedSlices, None]:
    """Return None for handle and keys, and for the anchor values float [n, dim] at indices int64 keys [n]."""
    anchor, keys = op.inputs[1], op.inputs[2]
    values = tf.reshape(gradient, [-1, anchor.shape.as_list()[1]])
    # The dense shape is there because tf.cond demands slices of one structure from both branches.
    return None, tf.IndexedSlices(values, tf.reshape(tf.cast(keys, tf.int64), [-1]), tf.shape(anchor)), None


for _op_type in ("RecLookup", "RecLookupOrInsert"):
    tf.RegisterGradient(_op_type)(_lookup_gradient)
