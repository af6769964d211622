"""AdamW on tables, touched rows only: LazyAdam with decoupled weight decay. Its results differ from AdamW's.

`w -= learning_rate * weight_decay * w` before LazyAdam's step (see `lazy_adam`), for the rows of the batch.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.optimizers import lazy_adam
from runtime.optimizers.lazy_adam import LazyAdamTableOptimizer


def create_hash_optimizer(
    learning_rate: Any = 0.001,
    weight_decay: float = 0.004,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    name: str = "AdamW",
    nonfinite: str = "error",
) -> AdamWTableOptimizer:
    """Create the optimizer.

    Raises:
        ValueError: a type or range is wrong: weight_decay in [0, 1], the others as for LazyAdam.
    """
    decay = _validation.real("weight_decay", weight_decay, 0, 1, whole=True)
    betas = lazy_adam.checked(beta1, beta2, epsilon)
    return AdamWTableOptimizer(learning_rate, decay, *betas, name, nonfinite)


class AdamWTableOptimizer(LazyAdamTableOptimizer):
    """See `create_hash_optimizer`."""

    rule = "lazy_adamw"

    def __init__(
        self,
        learning_rate: Any,
        decay: float,
        beta1: float,
        beta2: float,
        epsilon: float,
        name: str,
        nonfinite: str,
    ) -> None:
        """Take the checked arguments of `create_hash_optimizer`."""
        super().__init__(learning_rate, beta1, beta2, epsilon, name, nonfinite)
        self._decay = decay

    def _hyper(self, rate: tf.Tensor) -> list[Any]:
        return [*super()._hyper(rate), self._decay]
