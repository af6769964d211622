"""TensorFlow's stable hash of strings, vectorised: `tf.strings.to_hash_bucket_fast(x, n)` is `fingerprint64(x) % n`.

The function is Google's FarmHash Fingerprint64, which never changes. Texts are grouped by length and hashed together;
texts of more than 64 bytes, which are rare among categories, are hashed one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

_BITS = (1 << 64) - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_U = np.uint64


def fingerprint64(data: Array, offsets: Array) -> Array:
    """Return the fingerprint of each text, uint64 [n].

    `data` (uint8) has the concatenated texts in UTF-8, `offsets` [n + 1] where each begins.
    """
    offsets = offsets.astype(np.int64)
    starts, sizes = offsets[:-1], np.diff(offsets)
    result = np.empty(len(sizes), np.uint64)
    for largest, some in ((3, _to_3), (7, _to_7), (16, _to_16), (32, _to_32), (64, _to_64)):
        smallest = {3: 0, 7: 4, 16: 8, 32: 17, 64: 33}[largest]
        chosen = np.flatnonzero((sizes >= smallest) & (sizes <= largest))
        if len(chosen):
            result[chosen] = some(_Texts(data, starts[chosen], sizes[chosen]))
    for i in np.flatnonzero(sizes > 64):
        result[i] = _long(data[starts[i] : starts[i] + sizes[i]].tobytes())
    return result


class _Texts:
    """Texts of similar length."""

    def __init__(self, data: Array, starts: Array, sizes: Array) -> None:
        self.data, self.starts, self.sizes = data, starts, sizes
        self.size = sizes.astype(np.uint64)
        self.multiplier = _U(_K2) + self.size * _U(2)

    def word(self, at: int, count: int = 8) -> Array:
        """Return `count` bytes of each text as an integer, from byte `at`; a negative `at` counts from the end."""
        places = self.starts + (at if at >= 0 else self.sizes + at)
        # A view with a word at every offset; its type is void, because words are not aligned.
        kind = np.dtype((np.void, count))
        words: Array = np.ndarray((len(self.data) - count + 1,), kind, self.data.data, strides=(1,))
        word: Array = words[places].view(f"<u{count}").astype(np.uint64, copy=False)
        return word


def _turned(value: Array, bits: int) -> Array:
    return (value >> _U(bits)) | (value << _U(64 - bits))


def _folded(value: Array) -> Array:
    folded: Array = value ^ (value >> _U(47))
    return folded


def _mixed(a: Array, b: Array, multiplier: Array) -> Array:
    return _folded((_folded((a ^ b) * multiplier) ^ b) * multiplier) * multiplier


def _to_3(texts: _Texts) -> Array:
    result = np.full(len(texts.sizes), _K2, np.uint64)
    some = np.flatnonzero(texts.sizes)
    starts, sizes = texts.starts[some], texts.sizes[some]
    first, middle, last = (texts.data[starts + at].astype(np.uint64) for at in (0, sizes >> 1, sizes - 1))
    low, high = first + (middle << _U(8)), texts.size[some] + (last << _U(2))
    result[some] = _folded((low * _U(_K2)) ^ (high * _U(_K0))) * _U(_K2)
    return result


def _to_7(texts: _Texts) -> Array:
    return _mixed(texts.size + (texts.word(0, 4) << _U(3)), texts.word(-4, 4), texts.multiplier)


def _to_16(texts: _Texts) -> Array:
    a, b = texts.word(0) + _U(_K2), texts.word(-8)
    c = _turned(b, 37) * texts.multiplier + a
    return _mixed(c, (_turned(a, 25) + b) * texts.multiplier, texts.multiplier)


def _edges(texts: _Texts, by: int) -> tuple[Array, Array, Array]:
    """Return two sums over the first and last 16 bytes, and the term of the first word."""
    a, b = texts.word(0) * _U(by), texts.word(8)
    c, d = texts.word(-8) * texts.multiplier, texts.word(-16) * _U(_K2)
    return _turned(a + b, 43) + _turned(c, 30) + d, a + _turned(b + _U(_K2), 18) + c, a


def _to_32(texts: _Texts) -> Array:
    first, second, _ = _edges(texts, _K1)
    return _mixed(first, second, texts.multiplier)


def _to_64(texts: _Texts) -> Array:
    by = texts.multiplier
    y, second, a = _edges(texts, _K2)
    z = _mixed(y, second, by)
    e, f = texts.word(16) * by, texts.word(24)
    g, h = (y + texts.word(-32)) * by, (z + texts.word(-24)) * by
    return _mixed(_turned(e + f, 43) + _turned(g, 30) + h, e + _turned(f + a, 18) + g, by)


def _long(text: bytes) -> int:
    """Return the fingerprint of a text of more than 64 bytes, computed with Python integers."""

    def word(at: int) -> int:
        return int.from_bytes(text[at : at + 8], "little")

    def turned(value: int, bits: int) -> int:
        value &= _BITS
        return (value >> bits | value << (64 - bits)) & _BITS

    def folded(value: int) -> int:
        value &= _BITS
        return value ^ value >> 47

    def mixed(a: int, b: int, by: int) -> int:
        return folded((folded((a ^ b) * by) ^ b) * by) * by & _BITS

    def pair(at: int, a: int, b: int) -> tuple[int, int]:
        a += word(at)
        b = turned(b + a + word(at + 24), 21)
        c = a
        a += word(at + 8) + word(at + 16)
        return a + word(at + 24) & _BITS, b + turned(a, 44) + c & _BITS

    x, y = 81, 81 * _K1 + 113 & _BITS
    z = folded(y * _K2 + 113) * _K2 & _BITS
    v, w = (0, 0), (0, 0)
    x = x * _K2 + word(0) & _BITS

    def round_of(at: int, by: int, *, last: bool) -> None:
        nonlocal x, y, z, v, w
        ninth = 9 if last else 1
        x = turned(x + y + v[0] + word(at + 8), 37) * by & _BITS
        y = turned(y + v[1] + word(at + 48), 42) * by & _BITS
        x ^= w[1] * ninth & _BITS
        y = y + v[0] * ninth + word(at + 40) & _BITS
        z = turned(z + w[0], 33) * by & _BITS
        v = pair(at, v[1] * by, x + w[0])
        w = pair(at + 32, z + w[1], y + word(at + 16))
        z, x = x, z

    whole = (len(text) - 1) // 64 * 64
    for at in range(0, whole, 64):
        round_of(at, _K1, last=False)
    by = _K1 + ((z & 0xFF) << 1)
    rest = (len(text) - 1) & 63
    w = (w[0] + rest & _BITS, w[1])
    v = (v[0] + w[0] & _BITS, v[1])
    w = (w[0] + v[0] & _BITS, w[1])
    round_of(len(text) - 64, by, last=True)
    return mixed(mixed(v[0], w[0], by) + folded(y) * _K0 + z, mixed(v[1], w[1], by) + x, by)
