"""Adam on tables, equal to TensorFlow's v1 optimizer on a variable with all rows: every row moves at every step.

`a = learning_rate * sqrt(1 - beta2**t) / (1 - beta1**t)`; `m = beta1 m + (1 - beta1) g`;
`v = beta2 v + (1 - beta2) g**2`; `w -= a m / (sqrt(v) + epsilon)`. A row makes up for its steps without a gradient when
it is next read, updated or saved, so a step only costs time for the rows of its batch.

TensorFlow's epsilon differs from that of the paper's algorithm, as in Paddle and PyTorch: theirs is
`epsilon sqrt(1 - beta2**t)` in the formula above; `scaled_epsilon=True` selects it.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.optimizers import lazy_adam
from runtime.optimizers.lazy_adam import LazyAdamTableOptimizer


def create_hash_optimizer(
    learning_rate: Any = 0.001,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    use_locking: bool = False,
    name: str = "Adam",
    nonfinite: str = "error",
    scaled_epsilon: bool = False,
) -> AdamTableOptimizer:
    """Create the optimizer: `tf.compat.v1.train.AdamOptimizer`, or with a scaled epsilon Paddle's and PyTorch's Adam.

    With `nonfinite="skip"`, a row whose gradient is not finite is updated as if it had no gradient. `use_locking` has
    no effect: rows are always updated under locks.

    Raises:
        ValueError: a type or range is wrong: beta1 in [0, 1), beta2 in [0, 1], epsilon in (0, 1].
    """
    _validation.boolean("use_locking", use_locking)
    scaled = _validation.boolean("scaled_epsilon", scaled_epsilon)
    settings = lazy_adam.checked(beta1, beta2, epsilon)
    return (ScaledAdamTableOptimizer if scaled else AdamTableOptimizer)(learning_rate, *settings, name, nonfinite)


class AdamTableOptimizer(LazyAdamTableOptimizer):
    """See `create_hash_optimizer`."""

    rule = "adam"

    def _hyper(self, rate: tf.Tensor) -> list[Any]:
        power1, power2 = (power.value() for power in self._beta_powers())
        return [rate * tf.sqrt(1 - power2) / (1 - power1), *self._betas, self._epsilon]


class ScaledAdamTableOptimizer(AdamTableOptimizer):
    """See `create_hash_optimizer`."""

    rule = "adam_scaled"

    def _hyper(self, rate: tf.Tensor) -> list[Any]:
        power1, power2 = (power.value() for power in self._beta_powers())
        share = tf.sqrt(1 - power2)
        return [rate * share / (1 - power1), *self._betas, self._epsilon, self._epsilon * share]
