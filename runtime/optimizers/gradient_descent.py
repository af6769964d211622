"""Gradient descent on tables: `w -= learning_rate * (g + weight_decay * w)`, touched rows only.

Gradients of equal ids are summed first, so the decay counts once per key and step.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.optimizers._base import TableOptimizer


def create_hash_optimizer(
    learning_rate: Any,
    use_locking: bool = False,
    name: str = "GradientDescent",
    use_fusion_optim: bool = False,
    weight_decay: float | None = None,
    nonfinite: str = "error",
) -> GradientDescentTableOptimizer:
    """Create the optimizer; `use_fusion_optim` has no effect, because the update is always one op.

    Raises:
        ValueError: a type or range is wrong; weight_decay must be None or in [1e-5, 1e-2].
    """
    _validation.boolean("use_fusion_optim", use_fusion_optim)
    decay = 0.0 if weight_decay is None else _validation.real("weight_decay", weight_decay, 1e-5, 1e-2)
    return GradientDescentTableOptimizer(learning_rate, decay, use_locking, name, nonfinite)


class GradientDescentTableOptimizer(TableOptimizer):
    """See `create_hash_optimizer`."""

    rule = "sgd"

    def __init__(self, learning_rate: Any, decay: float, use_locking: bool, name: str, nonfinite: str) -> None:
        """Take the checked arguments of `create_hash_optimizer`."""
        super().__init__(learning_rate, use_locking, name, nonfinite)
        self._decay = decay

    def _hyper(self, rate: tf.Tensor) -> list[Any]:
        return [rate, self._decay]
