"""How losses reduce, and how labels of classes are read."""

from __future__ import annotations

import tensorflow as tf

REDUCTIONS = ("none", "mean", "sum")


def reduced(loss: tf.Tensor, reduction: str, function: str) -> tf.Tensor:
    """Return the loss as it is ("none"), or its mean or sum, 0-d.

    Raises:
        ValueError: `reduction` is another word.
    """
    if reduction not in REDUCTIONS:
        raise ValueError(f"{function}: there is no reduction {reduction!r}: give one of {', '.join(REDUCTIONS)}")
    if reduction == "none":
        return loss
    return tf.reduce_mean(loss) if reduction == "mean" else tf.reduce_sum(loss)


def divided(total: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """Return total / count, and total where the count is 0."""
    return total / (count + tf.cast(tf.equal(count, 0), count.dtype))
