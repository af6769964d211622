"""LazyAdam by address, for dynamic expansion; the rule is that of `lazy_adam`."""

from __future__ import annotations

from typing import Any

from runtime.optimizers import lazy_adam
from runtime.optimizers._by_address import AddressOptimizer
from runtime.optimizers.lazy_adam import LazyAdamTableOptimizer


def create_hash_optimizer_by_address(
    learning_rate: Any = 0.001,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
    name: str = "LazyAdamByAddress",
    nonfinite: str = "error",
) -> LazyAdamAddressOptimizer:
    """Create the optimizer; its pairs are (gradient of rows, addresses).

    Raises:
        ValueError: a type or range is wrong: beta1 in [0, 1), beta2 in [0, 1], epsilon in (0, 1].
    """
    return LazyAdamAddressOptimizer(learning_rate, *lazy_adam.checked(beta1, beta2, epsilon), name, nonfinite)


create_hash_optimizer_by_addr = create_hash_optimizer_by_address


class LazyAdamAddressOptimizer(AddressOptimizer, LazyAdamTableOptimizer):
    """See `create_hash_optimizer_by_address`."""
