"""What all sequences draw: seeds, learning rates, and numbers from a seed."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

SEED = st.integers(0, 2**16)
RATE = st.sampled_from([0.5, 0.1, 0.001, 0.0])


def numbers(seed: int, count: int, dim: int) -> np.ndarray:
    """Return gradients or values float32 [count, dim]: normal numbers among zeros of both signs."""
    rng = np.random.default_rng(seed)
    drawn = rng.normal(size=(count, dim)).astype(np.float32)
    drawn[rng.random((count, dim)) < 0.1] = 0.0
    drawn[rng.random((count, dim)) < 0.1] = -0.0
    return drawn
