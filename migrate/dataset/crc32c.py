"""Masked CRC-32C (Castagnoli) of many records at once, as in the TFRecord format.

A CRC is linear: zeros before a record do not change it, and the contribution of the start value depends only on the
record's length. So the CRCs of records that end in the same column of a matrix are computed column by column.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

WORD = 8  #: bytes processed at a time; the width of the matrix is a multiple of it
_POLYNOMIAL = 0x82F63B78  # reflected
_MASK_DELTA = 0xA282EAD8


@lru_cache(maxsize=1)
def _bytes() -> Array:
    """Return [8, 256] uint32: the CRC, from 0, of byte `b` followed by `k` zero bytes."""
    first = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        first = np.where(first & 1, (first >> 1) ^ np.uint32(_POLYNOMIAL), first >> 1).astype(np.uint32)
    tables = [first]
    for _ in range(WORD - 1):
        tables.append((tables[-1] >> np.uint32(8)) ^ first[tables[-1] & 0xFF])
    return np.stack(tables)


@lru_cache(maxsize=1)
def _pairs() -> list[Array]:
    """Return four tables [65536] uint32, one for each two bytes of a word in memory order."""
    single, pair = _bytes(), np.arange(1 << 16)
    low, high = pair & 0xFF, pair >> 8
    return [single[WORD - 1 - 2 * k][low] ^ single[WORD - 2 - 2 * k][high] for k in range(WORD // 2)]


@lru_cache(maxsize=8)
def _starts(size: int) -> Array:
    """Return [size] uint32: the start value after 0, 1, 2, … zero bytes."""
    table = [int(x) for x in _bytes()[0]]
    value, values = 0xFFFFFFFF, []
    for _ in range(size):
        values.append(value)
        value = (value >> 8) ^ table[value & 0xFF]
    return np.array(values, dtype=np.uint32)


def masked_crc32c(rows: Array, lengths: Array) -> Array:
    """Return the masked CRC of each record, [n] uint32.

    Args:
        rows: uint8 [n, w], each row contiguous and w a multiple of `WORD`; a record is at the end of its row, after
            zeros.
        lengths: [n], the length of each record.
    """
    lanes = np.ascontiguousarray(rows.view("<u2").T)
    first, second, third, fourth = _pairs()
    total = np.zeros(len(rows), np.uint32)
    for k in range(0, len(lanes), 4):
        a, b = lanes[k] ^ (total & np.uint32(0xFFFF)), lanes[k + 1] ^ (total >> np.uint32(16))
        total = first.take(a) ^ second.take(b) ^ third.take(lanes[k + 2]) ^ fourth.take(lanes[k + 3])
    # Powers of two, so that blocks of different widths share a cached table.
    total ^= _starts(1 << rows.shape[1].bit_length())[lengths] ^ np.uint32(0xFFFFFFFF)
    masked: Array = ((total >> np.uint32(15)) | (total << np.uint32(17))) + np.uint32(_MASK_DELTA)
    return masked
