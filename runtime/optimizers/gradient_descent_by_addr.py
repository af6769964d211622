"""Gradient descent on the rows at addresses, under dynamic expansion: `w -= learning_rate * (g + weight_decay * w)`."""

from __future__ import annotations

from typing import Any

from runtime import _validation
from runtime.optimizers._by_address import AddressOptimizer
from runtime.optimizers.gradient_descent import GradientDescentTableOptimizer


def create_hash_optimizer_by_addr(
    learning_rate: Any,
    weight_decay: float = 0.0001,
    use_locking: bool = False,
    name: str = "GradientDescentByAddr",
    nonfinite: str = "error",
) -> GradientDescentAddressOptimizer:
    """Create the optimizer; its pairs are (gradient of rows, addresses). Mind the default of `weight_decay`.

    Raises:
        ValueError: a wrong type or range; weight_decay in [0, 1].
    """
    decay = _validation.real("weight_decay", weight_decay, 0, 1, whole=True)
    return GradientDescentAddressOptimizer(learning_rate, decay, use_locking, name, nonfinite)


create_hash_optimizer_by_address = create_hash_optimizer_by_addr


class GradientDescentAddressOptimizer(AddressOptimizer, GradientDescentTableOptimizer):
    """See `create_hash_optimizer_by_addr`."""
