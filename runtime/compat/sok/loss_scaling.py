"""`sok.tf.keras.mixed_precision.LossScaleOptimizer` of SOK 1.x, with a fixed scale."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


class LossScaleOptimizer:
    """Multiplies the loss by a number, and divides the gradients by it; other attributes are the optimizer's.

    Rows are float32, so the updates are those without a scale, but for rounding.
    """

    def __init__(self, optimizer: Any, loss_scale: Any = "dynamic") -> None:
        """Take the optimizer and the scale.

        Raises:
            ValueError: the scale is not a number above 0. A dynamic scale would let each rank skip other steps.
        """
        if isinstance(loss_scale, bool) or not isinstance(loss_scale, (int, float)) or not loss_scale > 0:
            raise ValueError(
                f"the loss scale of sok's LossScaleOptimizer must be a number above 0: got {loss_scale!r}; give "
                "one, such as 1024, since with a dynamic scale each rank would decide for itself which steps "
                "to skip"
            )
        self._optimizer, self._scale = optimizer, float(loss_scale)

    @property
    def loss_scale(self) -> tf.Tensor:
        """The scale, a float32 scalar."""
        return tf.constant(self._scale)

    @property
    def inner_optimizer(self) -> Any:
        """The optimizer that was given."""
        return self._optimizer

    @property
    def initializer(self) -> Any:
        """The optimizer's op for a session to begin with; one that does nothing if it has none."""
        return getattr(self._optimizer, "initializer", None) or tf.no_op()

    def get_scaled_loss(self, loss: Any) -> Any:
        """Return the loss times the scale, in its type; for a function, a function that does so."""
        if callable(loss):
            return lambda: self.get_scaled_loss(loss())
        loss = tf.convert_to_tensor(loss)
        return loss * tf.cast(self._scale, loss.dtype)

    def get_unscaled_gradients(self, grads: Any) -> list[Any]:
        """Return gradients, dense or IndexedSlices, divided by the scale; None stays None."""
        return [None if one is None else _times(one, 1.0 / self._scale) for one in grads]

    def apply_gradients(self, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
        """Apply gradients that are unscaled already."""
        return self._optimizer.apply_gradients(grads_and_vars, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the optimizer."""
        if name in ("_optimizer", "_scale"):
            raise AttributeError(name)
        return getattr(self._optimizer, name)


def _times(gradient: Any, factor: float) -> Any:
    if isinstance(gradient, tf.IndexedSlices):
        return tf.IndexedSlices(_times(gradient.values, factor), gradient.indices, gradient.dense_shape)
    return gradient * tf.cast(factor, gradient.dtype)
