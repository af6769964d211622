"""Proximal Adagrad on tables, touched rows only, like TensorFlow's v1 optimizer: rows shrink by L1 and L2.

`s += g**2; r = learning_rate / sqrt(s); p = w - r g; w = sign(p) max(abs(p) - r l1, 0) / (1 + r l2)`.
"""

from __future__ import annotations

from typing import Any

from runtime import _validation
from runtime.optimizers._base import RuleOptimizer, accumulator_start

_MOST = 1e4


def create_hash_optimizer(
    learning_rate: Any,
    initial_accumulator_value: float = 0.1,
    l1_regularization_strength: float = 0.0,
    l2_regularization_strength: float = 0.0,
    use_locking: bool = False,
    name: str = "ProximalAdagrad",
    nonfinite: str = "error",
) -> RuleOptimizer:
    """Create the optimizer: `tf.compat.v1.train.ProximalAdagradOptimizer`.

    Raises:
        ValueError: a type or range is wrong: accumulator in (0, 1], strengths in [0, 1e4].
    """
    start = accumulator_start(initial_accumulator_value)
    strengths = (
        _validation.real("l1_regularization_strength", l1_regularization_strength, 0, _MOST, whole=True),
        _validation.real("l2_regularization_strength", l2_regularization_strength, 0, _MOST, whole=True),
    )
    return RuleOptimizer("proximal_adagrad", strengths, (start,), learning_rate, use_locking, name, nonfinite)
