"""Adagrad by address, for dynamic expansion: `s += g**2; w -= learning_rate * g / sqrt(s + 1e-7)`."""

from __future__ import annotations

from typing import Any

from runtime import _validation
from runtime.optimizers._by_address import AddressOptimizer
from runtime.optimizers.adagrad import AdagradTableOptimizer

_EPSILON = 1e-7


def create_hash_optimizer_by_address(
    learning_rate: Any = 0.001,
    initial_accumulator_value: float = 0.9,
    name: str = "Adagrad",
    nonfinite: str = "error",
) -> AdagradAddressOptimizer:
    """Create the optimizer; its pairs are (gradient of rows, addresses).

    Raises:
        ValueError: a type or range is wrong; the accumulator must be in (0, 1].
    """
    start = _validation.real("initial_accumulator_value", initial_accumulator_value, 0, 1, whole=True)
    if start == 0:
        raise ValueError(f"`initial_accumulator_value` is less than or equal to 0: got {initial_accumulator_value!r}")
    return AdagradAddressOptimizer(learning_rate, start, _EPSILON, False, name, nonfinite)


create_hash_optimizer_by_addr = create_hash_optimizer_by_address


class AdagradAddressOptimizer(AddressOptimizer, AdagradTableOptimizer):
    """See `create_hash_optimizer_by_address`."""

    rule = "adagrad_inside"
