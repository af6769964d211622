"""A table that gave up its buckets as dicts in float64: rows with their slots, by bucket and by id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runtime.optimizers import (
    adadelta,
    adagrad,
    adagrad_decay,
    adam,
    adamw,
    ftrl,
    gradient_descent,
    keras_adam,
    keras_adamw,
    keras_sgd,
    lazy_adam,
    momentum,
    rmsprop,
)

RATE = 0.05
Array = NDArray[np.float64]
#: Changes a row and its slots, the list's first and others, by a gradient, in the step of this number, from 1 on.
Step = Callable[[list[Array], Any, int], None]


@dataclass(frozen=True)
class Rule:
    """An optimizer, with what it does to a row."""

    make: Callable[[Any], Any]  #: from the global step
    step: Step
    starts: tuple[float, ...] = ()  #: of slots
    moves_all: bool = False  #: whether rows without a gradient move, too
    decay: float = 0.0  #: the share of a value that each step takes off


def _sgd(state: list[Array], gradient: Any, number: int) -> None:
    state[0] -= RATE * gradient


def _adagrad(state: list[Array], gradient: Any, number: int) -> None:
    state[1] += gradient**2
    state[0] -= RATE * gradient / np.sqrt(state[1])


def _adagrad_decay(state: list[Array], gradient: Any, number: int) -> None:
    behind = state[2] < number // 7
    state[1][:] = np.where(behind, np.maximum(state[1] * 0.5, 0.1), state[1])
    state[2] += behind
    _adagrad(state, gradient, number)


def _ftrl(state: list[Array], gradient: Any, number: int) -> None:
    after = state[1] + gradient**2
    state[2] += gradient - (np.sqrt(after) - np.sqrt(state[1])) / RATE * state[0]
    state[1][:] = after
    state[0][:] = -state[2] * RATE / np.sqrt(after)


def _momentum(state: list[Array], gradient: Any, number: int) -> None:
    state[1] *= 0.9
    state[1] += gradient
    state[0] -= RATE * state[1]


def _keras_momentum(state: list[Array], gradient: Any, number: int) -> None:
    state[1] *= 0.9
    state[1] -= RATE * gradient
    state[0] += state[1]


def _rmsprop(state: list[Array], gradient: Any, number: int) -> None:
    state[1] += (gradient**2 - state[1]) * 0.1
    state[2] *= 0.5
    state[2] += RATE * gradient / np.sqrt(state[1] + 1e-10)
    state[0] -= state[2]


def _adadelta(state: list[Array], gradient: Any, number: int) -> None:
    state[1] *= 0.9
    state[1] += 0.1 * gradient**2
    change = np.sqrt(state[2] + 1e-4) / np.sqrt(state[1] + 1e-4) * gradient
    state[0] -= change
    state[2] *= 0.9
    state[2] += 0.1 * change**2


def _adam(epsilon: float = 1e-4, decay: float = 0.0, scales: bool = False) -> Step:
    def step(state: list[Array], gradient: Any, number: int) -> None:
        left = np.sqrt(1 - 0.99**number)
        state[0] *= 1 - decay
        state[1] += 0.1 * (gradient - state[1])
        state[2] += 0.01 * (gradient**2 - state[2])
        state[0] -= RATE * left / (1 - 0.9**number) * state[1] / (np.sqrt(state[2]) + epsilon * (left if scales else 1))

    return step


_ADAM = {"epsilon": 1e-4}
#: Those with slots of every shape, and all that count the steps of a table.
RULES = {
    "sgd": Rule(lambda step: gradient_descent.create_hash_optimizer(RATE), _sgd),
    "adagrad": Rule(lambda step: adagrad.create_hash_optimizer(RATE, 0.1), _adagrad, (0.1,)),
    "adagrad_decay": Rule(
        lambda step: adagrad_decay.create_hash_optimizer(RATE, step, 0.1, 7, 0.5), _adagrad_decay, (0.1, 0)
    ),
    "ftrl": Rule(lambda step: ftrl.create_hash_optimizer(RATE, initial_accumulator_value=0.1), _ftrl, (0.1, 0)),
    "momentum": Rule(lambda step: momentum.create_hash_optimizer(RATE, 0.9), _momentum, (0,)),
    "rmsprop": Rule(lambda step: rmsprop.create_hash_optimizer(RATE, 0.9, 0.5), _rmsprop, (1, 0)),
    "adadelta": Rule(lambda step: adadelta.create_hash_optimizer(1.0, 0.9, 1e-4), _adadelta, (0, 0)),
    "lazy_adam": Rule(lambda step: lazy_adam.create_hash_optimizer(RATE, 0.9, 0.99, **_ADAM), _adam(), (0, 0)),
    "lazy_adamw": Rule(
        lambda step: adamw.create_hash_optimizer(RATE, 0.2, 0.9, 0.99, **_ADAM), _adam(decay=RATE * 0.2), (0, 0)
    ),
    "adam": Rule(lambda step: adam.create_hash_optimizer(RATE, 0.9, 0.99, **_ADAM), _adam(), (0, 0), True),
    "adam_scaled": Rule(
        lambda step: adam.create_hash_optimizer(RATE, 0.9, 0.99, **_ADAM, scaled_epsilon=True),
        _adam(scales=True),
        (0, 0),
        True,
    ),
    "keras_adam": Rule(lambda step: keras_adam.create_hash_optimizer(RATE, 0.9, 0.99, **_ADAM), _adam(), (0, 0), True),
    "keras_adamw": Rule(
        lambda step: keras_adamw.create_hash_optimizer(RATE, 0.02, 0.9, 0.99, **_ADAM),
        _adam(decay=RATE * 0.02),
        (0, 0),
        True,
        RATE * 0.02,
    ),
    "keras_momentum": Rule(lambda step: keras_sgd.create_hash_optimizer(RATE, 0.9), _keras_momentum, (0,), True),
}


class RowDicts:
    """What a table with `base_buckets=N` holds: the base by bucket, and rows of their own by id."""

    def __init__(self, rule: Rule, base: Any, initial: Mapping[int, Any]) -> None:
        """Begin with a matrix as base; `initial` are the rows that ids have by themselves, once it is forgotten."""
        self._rule, self.buckets = rule, len(base)
        self.base = {bucket: self._begun(row) for bucket, row in enumerate(base)}
        self.own: dict[int, list[Array]] = {}
        self.number = 0  # of steps so far
        self._initial = initial

    def _begun(self, row: Any) -> list[Array]:
        return [np.array(row, np.float64), *(np.full(len(row), start, np.float64) for start in self._rule.starts)]

    def row(self, key: int) -> list[Array]:
        """Return row and slots of an id, which may be those of its bucket."""
        if key in self.own:
            return self.own[key]
        if self.base:
            return self.base[key % self.buckets]
        return self._begun(np.asarray(self._initial[key]) * (1 - self._rule.decay) ** self.number)

    def values(self, keys: Iterable[int]) -> Array:
        """Return the values that a lookup reads."""
        return np.stack([self.row(int(key))[0] for key in keys])

    def look(self, keys: Iterable[int]) -> None:
        """Give rows to these ids, as a lookup that trains does."""
        for key in keys:
            self.own.setdefault(int(key), [part.copy() for part in self.row(int(key))])

    def unbucket(self) -> None:
        """Make the rows of buckets, which had the ids so far, the base."""
        self.base, self.own = {bucket: self.row(bucket) for bucket in range(self.buckets)}, {}

    def evict(self, keys: Iterable[int]) -> None:
        """Take their rows from these ids."""
        for key in keys:
            del self.own[int(key)]

    def step(self, gradients: Mapping[int, Any]) -> None:
        """Move rows by summed gradients; those of ids without a row are dropped."""
        self.number += 1
        for key, state in self.own.items():
            if key in gradients or self._rule.moves_all:
                self._rule.step(state, gradients.get(key, 0), self.number)
        for state in self.base.values() if self._rule.moves_all else ():
            self._rule.step(state, 0, self.number)
