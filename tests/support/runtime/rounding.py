"""What the engine promises of rows of two bytes, in numpy: which neighbour of a value an update stores."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

__all__ = ["half_type", "nearest", "stochastic"]

_MASK = 2**64 - 1


def half_type(dtype: tf.DType) -> Any:
    """Return numpy's type of two bytes."""
    return dtype.as_numpy_dtype


def nearest(values: NDArray[np.float32], dtype: tf.DType) -> NDArray[np.float32]:
    """Return what is left of float32 values once they were stored."""
    return values.astype(half_type(dtype)).astype(np.float32)


def stochastic(
    values: NDArray[np.float32], dtype: tf.DType, seed: int, update: int, keys: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return rows [n, dim] of `keys` as update number `update` (from 0) of a table with this seed stores them.

    A value goes away from zero where its distance from the neighbour below, in units of that between both, and a random
    number make 1 or more.
    """
    bits = 16 if dtype == tf.bfloat16 else 13
    below = _toward_zero(values, half_type(dtype))
    above = _away(below, values, half_type(dtype))
    low, high = below.astype(np.float64), above.astype(np.float64)
    share = np.where(low == values, 0.0, (values - low) / np.where(high == low, 1.0, high - low))
    columns = np.arange(values.shape[1], dtype=np.uint32)
    random = np.stack([_words(_row(seed, update, int(key)), columns) for key in keys])
    up = share + (random >> np.uint32(32 - bits)) / 2.0**bits >= 1.0
    return np.where(up, above.astype(np.float32), below.astype(np.float32))


def _toward_zero(values: NDArray[np.float32], half: Any) -> NDArray[Any]:
    found = values.astype(half)
    too_far = np.abs(found.astype(np.float32)) > np.abs(values)
    bits = found.view(np.uint16) - too_far.astype(np.uint16)  # sizes are ordered as their bits are
    return np.asarray(bits.view(half))


def _away(below: NDArray[Any], values: NDArray[np.float32], half: Any) -> NDArray[Any]:
    exact = below.astype(np.float32) == values
    signed = np.where(below.astype(np.float32) == 0, np.signbit(values).astype(np.uint16) << 15, below.view(np.uint16))
    return np.asarray(np.where(exact, below.view(np.uint16), signed.astype(np.uint16) + np.uint16(1)).view(half))


def _mix(word: int) -> int:
    """The finaliser of splitmix64."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & _MASK
    return word ^ (word >> 31)


def _row(seed: int, update: int, key: int) -> int:
    return _mix(_mix((seed + 0x9E3779B97F4A7C15 * (update + 1)) & _MASK) ^ (key & _MASK)) >> 32


def _words(start: int, columns: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """lowbias32 of the hash prospector, for each column."""
    words = (np.uint64(start) + columns.astype(np.uint64) * np.uint64(0x9E3779B9)).astype(np.uint32)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        words = ((words ^ (words >> np.uint32(shift))).astype(np.uint64) * np.uint64(factor)).astype(np.uint32)
    return words ^ (words >> np.uint32(16))
