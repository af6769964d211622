"""Gives both programs the same random numbers: those of a call depend on how many calls came before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from migrate.verify.paddle.trainer.common import Array


def uniform(number: int, shape: Sequence[int]) -> Array:
    """Return floats in [0, 1); the float32 nearest to each is below 1."""
    drawn: Array = _state(number).randint(0, 1 << 24, tuple(shape)) / float(1 << 24)
    return drawn


def normal(number: int, shape: Sequence[int]) -> Array:
    """Return floats of mean 0 and deviation 1."""
    drawn: Array = _state(number).standard_normal(tuple(shape))
    return drawn


def integers(number: int, shape: Sequence[int], low: int, high: int) -> Array:
    """Return ints in [low, high)."""
    drawn: Array = _state(number).randint(low, high, tuple(shape))
    return drawn


def permutation(number: int, count: int) -> Array:
    """Return the ints below `count`."""
    drawn: Array = _state(number).permutation(count)
    return drawn


def choices(number: int, weights: Array, count: int, replacement: bool) -> Array:
    """Return for each row of weights [b, n] `count` indices, drawn in proportion to them."""
    state = _state(number)
    single = weights.astype(np.float32).astype(np.float64)  # the same for the float64 reference
    if replacement:
        sums = single.cumsum(axis=1)
        places = state.random_sample((len(single), count)) * sums[:, -1:]
        rows = zip(sums, places, strict=True)
        return np.stack([np.searchsorted(sum_, place, "right") for sum_, place in rows])
    with np.errstate(divide="ignore"):
        keys = np.log(single) - np.log(-np.log(state.uniform(1e-20, 1.0, single.shape)))
    return np.argsort(-keys, axis=1, kind="stable")[:, :count]


def _state(number: int) -> Any:
    return np.random.RandomState(2000 + number)
