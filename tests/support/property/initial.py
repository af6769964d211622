"""Initial rows from the documentation alone: Philox4x32-10 of (seed, key, column / 4), then the law's inverse."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

_UNIT = NormalDist()
_BELOW_CUT = _UNIT.cdf(-2.0)
_LOW = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(32)


def philox(counter: Sequence[np.ndarray], key: tuple[int, int]) -> list[np.ndarray]:
    """Return four words (uint64 arrays below 2**32) for every counter of four words."""
    c0, c1, c2, c3 = (np.asarray(word, np.uint64) for word in counter)
    for number in range(10):
        k0, k1 = (key[0] + number * 0x9E3779B9) % 2**32, (key[1] + number * 0xBB67AE85) % 2**32
        left, right = np.uint64(0xD2511F53) * c0, np.uint64(0xCD9E8D57) * c2
        c0, c1 = (right >> _WORD) ^ c1 ^ np.uint64(k0), right & _LOW
        c2, c3 = (left >> _WORD) ^ c3 ^ np.uint64(k1), left & _LOW
    return [c0, c1, c2, c3]


def initial_rows(text: str, seed: int, keys: Sequence[int]) -> np.ndarray:
    """Return float32 [len(keys), dim] for an initializer text `width:kind:a:b;…`."""
    blocks = [part.split(":") for part in text.split(";")]
    laws = [(kind, float(a), float(b)) for width, kind, a, b in blocks for _ in range(int(width))]
    bits = np.array([key % 2**64 for key in keys], np.uint64)
    drawn: list[np.ndarray] = []
    for quarter in range((len(laws) + 3) // 4):
        column = np.full(len(bits), quarter, np.uint64)
        drawn += philox(
            [bits & _LOW, bits >> _WORD, column, np.zeros_like(column)], (seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF)
        )
    columns = [_values(law, word.astype(np.float64)) for law, word in zip(laws, drawn, strict=False)]
    return np.stack(columns, axis=1).astype(np.float32)


def _values(law: tuple[str, float, float], words: np.ndarray) -> np.ndarray:
    kind, a, b = law
    if kind == "constant":
        return np.full(len(words), a)
    if kind == "uniform":
        return a + (b - a) * (words / 2**32)
    p = (words + 0.5) / 2**32
    if kind == "normal":
        return a + b * _inverse(p)
    return a + b * np.clip(_inverse(_BELOW_CUT + (1 - 2 * _BELOW_CUT) * p), -2.0, 2.0)


def _inverse(probabilities: np.ndarray) -> np.ndarray:
    return np.array([_UNIT.inv_cdf(p) for p in probabilities.tolist()], np.float64)
