"""The gradient of a lookup: IndexedSlices for the anchor, with the keys as indices."""

from __future__ import annotations

import tensorflow as tf

__all__: list[str] = []


def _lookup_gradient(op: tf.Operation, gradient: tf.Tensor) -> tuple[None, tf.IndexedSlices, None]:
    """Return None for handle and keys, and for the anchor values float [n, dim] at indices int64 keys [n]."""
    anchor, keys = op.inputs[1], op.inputs[2]
    values = tf.reshape(gradient, tf.stack([-1, tf.shape(anchor)[1]]))
    values.set_shape([None, anchor.shape[1]])
    return None, tf.IndexedSlices(values, tf.reshape(tf.cast(keys, tf.int64), [-1])), None


for _op_type in ("RecLookup", "RecLookupOrInsert"):
    tf.RegisterGradient(_op_type)(_lookup_gradient)
