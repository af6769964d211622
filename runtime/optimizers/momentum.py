"""Momentum on tables, as TensorFlow's v1 optimizer: `a = momentum * a + g; w -= learning_rate * a`; touched rows only.

With `use_nesterov` it is `w -= learning_rate * g + learning_rate * momentum * a`.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.optimizers._base import TableOptimizer


def create_hash_optimizer(
    learning_rate: Any,
    momentum: float = 0.9,
    use_locking: bool = False,
    name: str = "Momentum",
    use_nesterov: bool = False,
    nonfinite: str = "error",
) -> MomentumTableOptimizer:
    """Create the optimizer: `tf.compat.v1.train.MomentumOptimizer`.

    Raises:
        ValueError: a type or range is wrong; momentum must be in [0, 1].
    """
    factor = _validation.real("momentum", momentum, 0, 1, whole=True)
    nesterov = _validation.boolean("use_nesterov", use_nesterov)
    return MomentumTableOptimizer(learning_rate, (factor, float(nesterov)), use_locking, name, nonfinite)


class MomentumTableOptimizer(TableOptimizer):
    """See `create_hash_optimizer`."""

    rule = "momentum"
    starts = (0.0,)

    def __init__(
        self, learning_rate: Any, settings: tuple[float, float], use_locking: bool, name: str, nonfinite: str
    ) -> None:
        """Take the checked arguments of `create_hash_optimizer`."""
        super().__init__(learning_rate, use_locking, name, nonfinite)
        self._settings = settings

    def _hyper(self, rate: tf.Tensor) -> list[Any]:
        return [rate, *self._settings]
