"""Adam on tables, equal to Keras' Adam on a variable with all rows: every row moves at every step.

Like `adam`, with Keras' epsilon and its own step counter. A row makes up for its steps without a gradient when it is
next read, updated or saved.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.optimizers import lazy_adam
from runtime.optimizers.keras_sgd import KerasTableOptimizer


def create_hash_optimizer(
    learning_rate: Any = 0.001,
    beta_1: float = 0.9,
    beta_2: float = 0.999,
    epsilon: float = 1e-7,
    name: str = "KerasAdam",
    nonfinite: str = "error",
) -> KerasAdamTableOptimizer:
    """Create the optimizer: `keras.optimizers.Adam` without `amsgrad`.

    Raises:
        ValueError: a type or range is wrong: beta_1 in [0, 1), beta_2 in [0, 1], epsilon in (0, 1].
    """
    return KerasAdamTableOptimizer(learning_rate, lazy_adam.checked(beta_1, beta_2, epsilon), name, nonfinite)


class KerasAdamTableOptimizer(KerasTableOptimizer):
    """See `create_hash_optimizer`."""

    rule = "keras_adam"
    starts = (0.0, 0.0)

    def __init__(self, learning_rate: Any, settings: tuple[float, float, float], name: str, nonfinite: str) -> None:
        """Take beta_1, beta_2 and epsilon, checked, as `settings`."""
        super().__init__(learning_rate, False, name, nonfinite)
        self._settings = settings

    def _hyper(self, rate: tf.Tensor) -> list[Any]:
        beta1, beta2, epsilon = self._settings
        step = tf.cast(self._steps() + 1, tf.float32)
        power1, power2 = (tf.pow(tf.constant(beta, tf.float32), step) for beta in (beta1, beta2))
        return [rate * tf.sqrt(1 - power2) / (1 - power1), 1 - beta1, 1 - beta2, epsilon]
