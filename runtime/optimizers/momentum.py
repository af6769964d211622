"""Momentum on tables, as TensorFlow's v1 optimizer: `a = momentum * a + g; w -= learning_rate * a`; touched rows only.

With `use_nesterov` it is `w -= learning_rate * g + learning_rate * momentum * a`.
"""

from __future__ import annotations

from typing import Any

from runtime import _validation
from runtime.optimizers._base import RuleOptimizer


def create_hash_optimizer(
    learning_rate: Any,
    momentum: float = 0.9,
    use_locking: bool = False,
    name: str = "Momentum",
    use_nesterov: bool = False,
    nonfinite: str = "error",
) -> RuleOptimizer:
    """Create the optimizer: `tf.compat.v1.train.MomentumOptimizer`.

    Raises:
        ValueError: a type or range is wrong; momentum must be in [0, 1].
    """
    factor = _validation.real("momentum", momentum, 0, 1, whole=True)
    settings = (factor, float(_validation.boolean("use_nesterov", use_nesterov)))
    return RuleOptimizer("momentum", settings, (0.0,), learning_rate, use_locking, name, nonfinite)
