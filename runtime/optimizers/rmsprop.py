"""RMSProp on tables: `s += (1 - decay)(g**2 - s); m = momentum m + learning_rate g / sqrt(s + epsilon); w -= m`.

Touched rows only, like TensorFlow's v1 optimizer; s starts at 1. `centered` subtracts the squared mean gradient from s.
"""

from __future__ import annotations

from typing import Any

from runtime import _validation
from runtime.optimizers._base import RuleOptimizer


def create_hash_optimizer(
    learning_rate: Any,
    decay: float = 0.9,
    momentum: float = 0.0,
    epsilon: float = 1e-10,
    use_locking: bool = False,
    centered: bool = False,
    name: str = "RMSProp",
    nonfinite: str = "error",
) -> RuleOptimizer:
    """Create the optimizer: `tf.compat.v1.train.RMSPropOptimizer`.

    Raises:
        ValueError: a type or range is wrong; decay, momentum and epsilon must be in [0, 1].
    """
    settings = [
        _validation.real(argument, value, 0, 1, whole=True)
        for argument, value in (("decay", decay), ("momentum", momentum), ("epsilon", epsilon))
    ]
    if _validation.boolean("centered", centered):
        slots: tuple[float, ...] = (1.0, 0.0, 0.0)
        return RuleOptimizer("rmsprop_centered", settings, slots, learning_rate, use_locking, name, nonfinite)
    return RuleOptimizer("rmsprop", settings, (1.0, 0.0), learning_rate, use_locking, name, nonfinite)
