"""RMSProp on tables: `s += (1 - decay)(g**2 - s); m = momentum m + learning_rate g / sqrt(s + epsilon); w -= m`.

Touched rows only, like TensorFlow's v1 optimizer; s starts at 1. `centered` subtracts the squared mean gradient from s.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.optimizers._base import TableOptimizer


def create_hash_optimizer(
    learning_rate: Any,
    decay: float = 0.9,
    momentum: float = 0.0,
    epsilon: float = 1e-10,
    use_locking: bool = False,
    centered: bool = False,
    name: str = "RMSProp",
    nonfinite: str = "error",
) -> RMSPropTableOptimizer:
    """Create the optimizer: `tf.compat.v1.train.RMSPropOptimizer`.

    Raises:
        ValueError: a type or range is wrong; decay, momentum and epsilon must be in [0, 1].
    """
    settings = [
        _validation.real(argument, value, 0, 1, whole=True)
        for argument, value in (("decay", decay), ("momentum", momentum), ("epsilon", epsilon))
    ]
    return RMSPropTableOptimizer(
        learning_rate, settings, _validation.boolean("centered", centered), use_locking, name, nonfinite
    )


class RMSPropTableOptimizer(TableOptimizer):
    """See `create_hash_optimizer`."""

    def __init__(
        self, learning_rate: Any, settings: list[float], centered: bool, use_locking: bool, name: str, nonfinite: str
    ) -> None:
        """Take the checked arguments of `create_hash_optimizer`."""
        super().__init__(learning_rate, use_locking, name, nonfinite)
        self.rule = "rmsprop_centered" if centered else "rmsprop"
        self.starts = (1.0, 0.0, 0.0) if centered else (1.0, 0.0)
        self._settings = settings

    def _hyper(self, rate: tf.Tensor) -> list[Any]:
        return [rate, *self._settings]
