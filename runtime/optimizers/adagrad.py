"""Adagrad on tables: `s += g**2; w -= learning_rate * g / (sqrt(s) + epsilon)`, touched rows only."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime import _validation
from runtime.optimizers._base import RuleOptimizer

# Smaller numbers are flushed to 0 in TensorFlow's threads.
_SMALLEST = float(np.finfo(np.float32).tiny)


def create_hash_optimizer(
    learning_rate: Any = 0.001,
    initial_accumulator_value: float = 0.9,
    use_locking: bool = False,
    name: str = "Adagrad",
    epsilon: float = 0.0,
    nonfinite: str = "error",
) -> RuleOptimizer:
    """Create the optimizer; with epsilon 0 it is `tf.compat.v1.train.AdagradOptimizer` (its accumulator starts at 0.1).

    Raises:
        ValueError: a type or range is wrong (accumulator and epsilon must be in [0, 1]), or both are 0 in float32.
    """
    start = _validation.real("initial_accumulator_value", initial_accumulator_value, 0, 1, whole=True)
    small = _validation.real("epsilon", epsilon, 0, 1, whole=True)
    if max(start, small) < _SMALLEST:
        raise ValueError(
            f"with `initial_accumulator_value` {start!r} and `epsilon` {small!r} a gradient of 0 would make a row NaN: "
            "give one of them a value above 0"
        )
    return RuleOptimizer("adagrad", [small], (start,), learning_rate, use_locking, name, nonfinite)
