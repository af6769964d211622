"""Gradient descent on tables: `w -= learning_rate * (g + weight_decay * w)`, touched rows only.

Gradients of equal ids are summed first, so the decay counts once per key and step.
"""

from __future__ import annotations

from typing import Any

from runtime import _validation
from runtime.optimizers._base import RuleOptimizer


def create_hash_optimizer(
    learning_rate: Any,
    use_locking: bool = False,
    name: str = "GradientDescent",
    weight_decay: float | None = None,
    nonfinite: str = "error",
) -> RuleOptimizer:
    """Create the optimizer.

    Raises:
        ValueError: a type or range is wrong; weight_decay must be None or in [1e-5, 1e-2].
    """
    decay = 0.0 if weight_decay is None else _validation.real("weight_decay", weight_decay, 1e-5, 1e-2)
    return RuleOptimizer("sgd", [decay], (), learning_rate, use_locking, name, nonfinite)
