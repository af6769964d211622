"""Sums over all axes but the channel's, added in several parts.

Over several axes at once TensorFlow adds the elements of a channel one after the other: of 100000 numbers the last two
of seven digits are lost. Axis by axis, sums stay short. Both hold for gradients, too.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def mean_over(x: tf.Tensor, axes: list[int]) -> tf.Tensor:
    """Return the mean over some axes, which stay with size 1."""
    for axis in reversed(axes):
        x = tf.reduce_mean(x, axis, keepdims=True)
    return x


def spread(value: Any, x: tf.Tensor, axes: list[int]) -> tf.Tensor:
    """Return a tensor of size 1 along `axes` repeated to the sizes of x along all of them but the last.

    It can then be added to x or multiplied by it, and its gradient is added axis by axis.
    """
    sizes = tf.shape(x)
    for axis in axes[:-1]:
        value = tf.repeat(value, sizes[axis], axis)
    return tf.convert_to_tensor(value)
