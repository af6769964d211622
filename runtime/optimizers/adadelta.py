"""Adadelta on tables, touched rows only, like TensorFlow's v1 optimizer.

`s = rho s + (1 - rho) g**2; u = g sqrt(d + epsilon) / sqrt(s + epsilon); w -= learning_rate u;
d = rho d + (1 - rho) u**2`.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.optimizers._base import TableOptimizer


def create_hash_optimizer(
    learning_rate: Any = 0.001,
    rho: float = 0.95,
    epsilon: float = 1e-8,
    use_locking: bool = False,
    name: str = "Adadelta",
    nonfinite: str = "error",
) -> AdadeltaTableOptimizer:
    """Create the optimizer: `tf.compat.v1.train.AdadeltaOptimizer`.

    Raises:
        ValueError: a type or range is wrong; rho and epsilon must be in [0, 1].
    """
    settings = (_validation.real("rho", rho, 0, 1, whole=True), _validation.real("epsilon", epsilon, 0, 1, whole=True))
    return AdadeltaTableOptimizer(learning_rate, settings, use_locking, name, nonfinite)


class AdadeltaTableOptimizer(TableOptimizer):
    """See `create_hash_optimizer`."""

    rule = "adadelta"
    starts = (0.0, 0.0)

    def __init__(
        self, learning_rate: Any, settings: tuple[float, float], use_locking: bool, name: str, nonfinite: str
    ) -> None:
        """Take the checked arguments of `create_hash_optimizer`."""
        super().__init__(learning_rate, use_locking, name, nonfinite)
        self._settings = settings

    def _hyper(self, rate: tf.Tensor) -> list[Any]:
        return [rate, *self._settings]
