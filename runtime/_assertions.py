"""Ops that check a condition when a graph runs, and fail with a message."""

from __future__ import annotations

import tensorflow as tf


def checked(condition: tf.Tensor, message: str, value: tf.Tensor) -> tf.Operation:
    """Return an op that fails with a message and a value if a condition is false.

    Like tf.compat.v1.assert_equal, but one op instead of ten: a graph has several checks for each table.
    """
    return tf.raw_ops.Assert(condition=condition, data=[message, value])
