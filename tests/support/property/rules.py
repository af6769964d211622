"""Optimizers as numpy computes them in float32, operation by operation in the order that the documentation writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from runtime.optimizers import (
    adagrad,
    gradient_descent,
    lazy_adam,
)

#: Values [n, dim], slots [n, slots, dim] (both changed in place), summed gradients, learning rate, steps so far.
Step = Callable[[np.ndarray, np.ndarray, np.ndarray, np.float32, int], None]


@dataclass(frozen=True)
class Rule:
    """One optimizer: how the runtime makes it from a learning rate, its slots' first values and its step."""

    make: Callable[[Any], Any]
    starts: tuple[float, ...]
    step: Step


def _sgd(w: np.ndarray, slots: np.ndarray, g: np.ndarray, rate: np.float32, steps: int) -> None:
    w -= rate * g


def _adagrad(epsilon: np.float32) -> Step:
    def step(w: np.ndarray, slots: np.ndarray, g: np.ndarray, rate: np.float32, steps: int) -> None:
        slots[:, 0] += g * g
        w -= rate * g / (np.sqrt(slots[:, 0]) + epsilon)

    return step


def _power(beta: np.float32, steps: int) -> np.float32:
    """Return beta**(steps + 1) as a float32 variable gets there."""
    power = beta
    for _ in range(steps):
        power = power * beta
    return power


def _lazy_adam(w: np.ndarray, slots: np.ndarray, g: np.ndarray, rate: np.float32, steps: int) -> None:
    one, beta1, beta2, epsilon = np.float32(1), np.float32(0.9), np.float32(0.999), np.float32(1e-8)
    step = rate * np.sqrt(one - _power(beta2, steps)) / (one - _power(beta1, steps))
    slots[:, 0] = beta1 * slots[:, 0] + (one - beta1) * g
    slots[:, 1] = beta2 * slots[:, 1] + (one - beta2) * (g * g)
    w -= step * slots[:, 0] / (np.sqrt(np.abs(slots[:, 1])) + epsilon)


RULES = {
    "sgd": Rule(gradient_descent.create_hash_optimizer, (), _sgd),
    "adagrad": Rule(
        lambda rate: adagrad.create_hash_optimizer(rate, 0.1, epsilon=0.25), (0.1,), _adagrad(np.float32(0.25))
    ),
    "lazy_adam": Rule(lazy_adam.create_hash_optimizer, (0.0, 0.0), _lazy_adam),
}
