"""What stock optimizers that move every row make of a dense matrix in float64: deferred tables must be near to it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from runtime.optimizers import adam, keras_adam, keras_adamw, keras_sgd
from tests.support.property.initial import initial_rows

#: All keys that sequences on deferred tables use: the oracle moves each at every step.
KEYS = (*range(20), -1, 2**63 - 1, -(2**63), 2**32)
#: The issue's bound: the largest difference by the largest weight.
BOUND = 1e-5


@dataclass(frozen=True)
class DenseRule:
    """An optimizer and its constants; `slots` is how many numbers it keeps of each weight."""

    make: Callable[[Any], Any]
    slots: int
    epsilon: float = 1e-7
    decay: float = 0.0
    nesterov: bool = False
    scaled: bool = False


DENSE_RULES = {
    "adam": DenseRule(adam.create_hash_optimizer, 2, 1e-8),
    "scaled_adam": DenseRule(partial(adam.create_hash_optimizer, scaled_epsilon=True), 2, 1e-8, scaled=True),
    "keras_adam": DenseRule(keras_adam.create_hash_optimizer, 2),
    "keras_adamw": DenseRule(partial(keras_adamw.create_hash_optimizer, weight_decay=0.05), 2, decay=0.05),
    "keras_sgd": DenseRule(partial(keras_sgd.create_hash_optimizer, momentum=0.9), 1),
    "nesterov": DenseRule(partial(keras_sgd.create_hash_optimizer, momentum=0.9, nesterov=True), 1, nesterov=True),
}


def _single(number: float) -> float:
    return float(np.float32(number))


class DenseOracle:
    """A variable with a row for each of KEYS; `seen` are those that a table has."""

    def __init__(self, initializer: str, seed: int, dim: int, rule: DenseRule) -> None:
        """Start with initial rows and nothing seen."""
        self.dim, self.rule = dim, rule
        self.place = {key: place for place, key in enumerate(KEYS)}
        self.first = initial_rows(initializer, seed, KEYS).astype(np.float64)
        self.steps = 0
        self.reset()

    def reset(self) -> None:
        """Begin anew; the count of steps is the optimizer's and stays."""
        self.w, self.left = self.first.copy(), 1.0
        self.slots = np.zeros((self.rule.slots, *self.w.shape))
        self.seen: set[int] = set()
        self.has_slots = False

    def _at(self, keys: Sequence[int]) -> np.ndarray:
        return np.array([self.place[key] for key in keys], np.int64)

    def read(self, keys: Sequence[int]) -> np.ndarray:
        """Return values [len(keys), dim]."""
        return self.w[self._at(keys)]

    def insert(self, keys: Sequence[int]) -> None:
        """Note that the table has these."""
        self.seen |= set(keys)

    def update(self, keys: Sequence[int], gradients: np.ndarray, rate: float) -> None:
        """Take a step of all rows; those without a gradient have one of zeros."""
        self.insert(keys)
        self.steps += 1
        self.has_slots = True
        g = np.zeros_like(self.w)
        np.add.at(g, self._at(keys), gradients.astype(np.float64))
        (self._adam if self.rule.slots == 2 else self._momentum)(g, _single(rate))

    def _momentum(self, g: np.ndarray, rate: float) -> None:
        factor = _single(0.9)
        self.slots[0] = factor * self.slots[0] - rate * g
        self.w += factor * self.slots[0] - rate * g if self.rule.nesterov else self.slots[0]

    def _adam(self, g: np.ndarray, rate: float) -> None:
        kept = 1 - _single(self.rule.decay) * rate
        self.w, self.left = self.w * kept, self.left * kept
        beta1, beta2 = _single(0.9), _single(0.999)
        m, v = self.slots
        keras = self.rule.epsilon != 1e-8  # which rounds 1 - beta, where v1 subtracts rounded betas
        m += (_single(1 - 0.9) if keras else 1 - beta1) * (g - m)
        v += (_single(1 - 0.999) if keras else 1 - beta2) * (g * g - v)
        share = np.sqrt(1 - beta2**self.steps)
        epsilon = _single(self.rule.epsilon) * (share if self.rule.scaled else 1.0)
        self.w -= rate * share / (1 - beta1**self.steps) * m / (np.sqrt(v) + epsilon)

    def overwrite(self, keys: Sequence[int], values: np.ndarray) -> None:
        """Set values, the last of equal keys wins; slots stay."""
        self.insert(keys)
        for key, value in zip(keys, values, strict=True):
            self.w[self.place[key]] = value

    def remove(self, keys: Sequence[int]) -> None:
        """Forget rows with their slots: they are as if never seen, and have decayed since the first step."""
        for key in set(keys) & self.seen:
            self.w[self.place[key]] = self.first[self.place[key]] * self.left
            self.slots[:, self.place[key]] = 0
        self.seen -= set(keys)

    def copy(self) -> DenseOracle:
        """Return a copy that shares nothing that changes."""
        return copy.deepcopy(self)

    def sorted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the table's keys in order, values [n, dim] and slots [n, slots * dim]."""
        keys = np.array(sorted(self.seen), np.int64)
        places = self._at(keys.tolist())
        slots = self.slots[:, places].transpose(1, 0, 2).reshape(len(keys), self.rule.slots * self.dim)
        return keys, self.w[places], slots

    def compare(self, expected: np.ndarray, got: np.ndarray) -> None:
        """Assert that values are within the bound."""
        assert expected.shape == got.shape, (expected.shape, got.shape)
        np.testing.assert_allclose(got, expected, rtol=0, atol=BOUND * np.abs(self.w).max())

    def compare_slots(self, expected: np.ndarray, got: np.ndarray) -> None:
        """Assert that slots are within the bound of the largest of their kind."""
        assert expected.shape == got.shape, (expected.shape, got.shape)
        for s in range(self.rule.slots):
            part = slice(s * self.dim, (s + 1) * self.dim)
            atol = BOUND * max(np.abs(self.slots[s]).max(), 1e-6)
            np.testing.assert_allclose(got[:, part], expected[:, part], rtol=0, atol=atol)
