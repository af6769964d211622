"""AdamW on tables, equal to Keras' AdamW on a variable with all rows: every row decays and moves at every step.

`w -= learning_rate * weight_decay * w`, then as `keras_adam`. A key that is first seen at step t starts with its
initial row after t steps of decay, as the row of a variable would.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.optimizers import lazy_adam
from runtime.optimizers.keras_adam import KerasAdamTableOptimizer


def create_hash_optimizer(
    learning_rate: Any = 0.001,
    weight_decay: float = 0.004,
    beta_1: float = 0.9,
    beta_2: float = 0.999,
    epsilon: float = 1e-7,
    name: str = "KerasAdamW",
    nonfinite: str = "error",
) -> KerasAdamWTableOptimizer:
    """Create the optimizer: `keras.optimizers.AdamW` without `amsgrad`.

    Raises:
        ValueError: a type or range is wrong: weight_decay in [0, 1], beta_1 in [0, 1), beta_2 in [0, 1], epsilon in (0,
            1].
    """
    decay = _validation.real("weight_decay", weight_decay, 0, 1, whole=True)
    settings = lazy_adam.checked(beta_1, beta_2, epsilon)
    return KerasAdamWTableOptimizer(learning_rate, settings, decay, name, nonfinite)


class KerasAdamWTableOptimizer(KerasAdamTableOptimizer):
    """See `create_hash_optimizer`."""

    rule = "keras_adamw"

    def __init__(
        self, learning_rate: Any, settings: tuple[float, float, float], decay: float, name: str, nonfinite: str
    ) -> None:
        """Take beta_1, beta_2 and epsilon, checked, as `settings`."""
        super().__init__(learning_rate, settings, name, nonfinite)
        self._decay = decay

    def _hyper(self, rate: tf.Tensor) -> list[Any]:
        return [*super()._hyper(rate), self._decay, rate]
