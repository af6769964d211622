"""Random weights for a TensorFlow program, from the seed and the variables' names. Pure numpy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def random_weights(
    initial: Mapping[str, Array], shapes: Mapping[str, tuple[int, ...]], looked_up: set[str], seed: int
) -> dict[str, Array]:
    """Generate values for each trainable variable, in its dtype.

    Kernels are scaled by their fan-in, and tables so that rows have about unit length. Vectors are the initial value
    plus noise, so that the scale of a normalisation stays near 1.
    """
    result = {}
    for name, shape in shapes.items():
        rng = np.random.default_rng([seed, crc32(name.encode())])
        noise = rng.standard_normal(shape)
        if name in looked_up:
            values = noise / max(shape[-1] if len(shape) > 1 else 4, 1) ** 0.5
        elif len(shape) < 2:
            values = initial[name].astype(np.float64) + 0.1 * noise
        else:
            values = noise / max(int(np.prod(shape[:-1])), 1) ** 0.5
        result[name] = values.astype(initial[name].dtype)
    return result
