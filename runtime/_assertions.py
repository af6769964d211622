"""Ops that fail when a graph runs, with a message that says what is wrong."""

from __future__ import annotations

import tensorflow as tf


def checked(condition: tf.Tensor, message: str, value: tf.Tensor) -> tf.Operation:
    """Return the op that fails with a message and a value where a condition is false.

    It is all that tf.compat.v1.assert_equal comes to, with one op for ten: a graph has several checks for each table.
    """
    return tf.raw_ops.Assert(condition=condition, data=[message, value])
