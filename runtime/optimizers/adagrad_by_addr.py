"""Adagrad by address, for dynamic expansion: `s += g**2; w -= learning_rate * g / sqrt(s + 1e-7)`."""

from __future__ import annotations

from typing import Any

from runtime.optimizers._base import accumulator_start
from runtime.optimizers._by_address import RuleAddressOptimizer

_EPSILON = 1e-7


def create_hash_optimizer_by_address(
    learning_rate: Any = 0.001,
    initial_accumulator_value: float = 0.9,
    name: str = "Adagrad",
    nonfinite: str = "error",
) -> RuleAddressOptimizer:
    """Create the optimizer; its pairs are (gradient of rows, addresses).

    Raises:
        ValueError: a type or range is wrong; the accumulator must be in (0, 1].
    """
    start = accumulator_start(initial_accumulator_value)
    return RuleAddressOptimizer("adagrad_inside", [_EPSILON], (start,), learning_rate, False, name, nonfinite)


create_hash_optimizer_by_addr = create_hash_optimizer_by_address
