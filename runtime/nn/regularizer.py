"""Penalties of weights, which optimizers add to gradients."""

from __future__ import annotations

import tensorflow as tf


class L2Decay:
    """`coeff * w` is added to the gradient of w."""

    def __init__(self, coeff: float = 0.0) -> None:
        """Take the factor."""
        self.coeff = float(coeff)

    def gradient(self, weight: tf.Tensor) -> tf.Tensor:
        """Return what is added to the gradient of a weight."""
        return self.coeff * weight


class L1Decay(L2Decay):
    """`coeff * sign(w)` is added to the gradient of w."""

    def gradient(self, weight: tf.Tensor) -> tf.Tensor:
        """Return what is added to the gradient of a weight."""
        return self.coeff * tf.sign(weight)


__all__ = ["L1Decay", "L2Decay"]
