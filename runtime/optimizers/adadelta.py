"""Adadelta on tables, touched rows only, like TensorFlow's v1 optimizer.

`s = rho s + (1 - rho) g**2; u = g sqrt(d + epsilon) / sqrt(s + epsilon); w -= learning_rate u;
d = rho d + (1 - rho) u**2`.
"""

from __future__ import annotations

from typing import Any

from runtime import _validation
from runtime.optimizers._base import RuleOptimizer


def create_hash_optimizer(
    learning_rate: Any = 0.001,
    rho: float = 0.95,
    epsilon: float = 1e-8,
    use_locking: bool = False,
    name: str = "Adadelta",
    nonfinite: str = "error",
) -> RuleOptimizer:
    """Create the optimizer: `tf.compat.v1.train.AdadeltaOptimizer`.

    Raises:
        ValueError: a type or range is wrong; rho and epsilon must be in [0, 1].
    """
    settings = (_validation.real("rho", rho, 0, 1, whole=True), _validation.real("epsilon", epsilon, 0, 1, whole=True))
    return RuleOptimizer("adadelta", settings, (0.0, 0.0), learning_rate, use_locking, name, nonfinite)
