"""Where the passes and steps of both programs begin, from the seed and the names of weights alone. Pure numpy.

A program's own initial values are often constants, which give rows, predictions and gradients that are all the same:
comparing them shows nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
#: The size of the noise: a share of the standard deviation of a weight, and of 1 where all its numbers are the same.
_SHARE = 0.1


def random_weights(
    initial: Mapping[str, Array], names: Iterable[str], looked_up: set[str], seed: int
) -> dict[str, Array]:
    """Generate values for the named weights, each in the dtype of its initial value.

    Kernels are scaled by their fan-in, and tables so that rows have about unit length: predictions then depend on what
    is drawn, such as masks of dropout, by which a float64 run that draws otherwise is told. Vectors are the initial
    value plus noise, so that the scale of a normalisation stays near 1.
    """
    weights = {}
    for name in names:
        own = initial[name]
        noise = _noise(name, own.shape, seed)
        if name in looked_up:
            values = noise / max(own.shape[-1] if own.ndim > 1 else 4, 1) ** 0.5
        elif own.ndim < 2:
            values = own.astype(np.float64) + _SHARE * noise
        else:
            values = noise / max(int(np.prod(own.shape[:-1])), 1) ** 0.5
        weights[name] = values.astype(own.dtype)
    return weights


def moved_weights(initial: Mapping[str, Array], seed: int) -> dict[str, Array]:
    """Return initial values with noise, so that none is constant and each keeps its scale; whole numbers as they are.

    For programs whose masks and random numbers are the same by construction, as those of Paddle.
    """
    moved = {}
    for name, value in initial.items():
        if value.dtype.kind == "f":
            constant = not value.size or value.min() == value.max()
            deviation = 1.0 if constant else float(value.std(dtype=np.float64))
            value = value + (_SHARE * deviation * _noise(name, value.shape, seed)).astype(value.dtype)
        moved[name] = value
    return moved


def _noise(name: str, shape: tuple[int, ...], seed: int) -> Array:
    return np.random.default_rng([seed, crc32(name.encode())]).standard_normal(shape)
