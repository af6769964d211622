"""Gradient descent by address, for dynamic expansion: `w -= learning_rate * (g + weight_decay * w)`."""

from __future__ import annotations

from typing import Any

from runtime import _validation
from runtime.optimizers._by_address import RuleAddressOptimizer


def create_hash_optimizer_by_addr(
    learning_rate: Any,
    weight_decay: float = 0.0001,
    use_locking: bool = False,
    name: str = "GradientDescentByAddr",
    nonfinite: str = "error",
) -> RuleAddressOptimizer:
    """Create the optimizer; its pairs are (gradient of rows, addresses). The default `weight_decay` is not 0.

    Raises:
        ValueError: a type or range is wrong; weight_decay must be in [0, 1].
    """
    decay = _validation.real("weight_decay", weight_decay, 0, 1, whole=True)
    return RuleAddressOptimizer("sgd", [decay], (), learning_rate, use_locking, name, nonfinite)


create_hash_optimizer_by_address = create_hash_optimizer_by_addr
