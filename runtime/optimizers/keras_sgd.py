"""Momentum on tables, equal to Keras' SGD on a variable with all rows: every row moves at every step.

`a = momentum a - learning_rate g; w += a`, with `nesterov` it is `w += momentum a - learning_rate g`. A row makes up
for its steps without a gradient when it is next read, updated or saved.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.optimizers._keras import KerasTableOptimizer


def create_hash_optimizer(
    learning_rate: Any = 0.01,
    momentum: float = 0.0,
    nesterov: bool = False,
    name: str = "KerasSGD",
    nonfinite: str = "error",
) -> KerasSGDTableOptimizer:
    """Create the optimizer: `keras.optimizers.SGD`. Without momentum, `gradient_descent` does the same in less memory.

    Raises:
        ValueError: a type or range is wrong; momentum must be in [0, 1].
    """
    factor = _validation.real("momentum", momentum, 0, 1, whole=True)
    settings = (factor, float(_validation.boolean("nesterov", nesterov)))
    return KerasSGDTableOptimizer(learning_rate, settings, name, nonfinite)


class KerasSGDTableOptimizer(KerasTableOptimizer):
    """See `create_hash_optimizer`."""

    rule = "keras_momentum"
    starts = (0.0,)

    def __init__(self, learning_rate: Any, settings: tuple[float, float], name: str, nonfinite: str) -> None:
        """Take momentum and nesterov, checked, as `settings`."""
        super().__init__(learning_rate, False, name, nonfinite)
        self._settings = settings

    def _hyper(self, rate: tf.Tensor) -> list[Any]:
        return [rate, *self._settings]
