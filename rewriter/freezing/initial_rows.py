"""What a new row begins with, computed by stock ops with the bits of the engine: `native/store/initializers`.

A row is a function of seed and key: Philox4x32-10 draws four words for each four columns, and the distribution of a
block of columns makes a float32 of a word, in float64.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from rewriter.freezing.normal import inverse_normal

_WORD = 0xFFFFFFFF
_ROUNDS = 10
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_STEPS = (0x9E3779B9, 0xBB67AE85)
_TWO_TO_32 = 4294967296.0
_BELOW_CUT = 0.022750131948179207  # P(N(0, 1) < -2)


@dataclass(frozen=True)
class Block:
    """A distribution of some columns: constant (a), uniform [a, b), normal or truncated_normal (mean a, stddev b)."""

    width: int
    kind: str
    a: float
    b: float


def blocks_of(initializer: str) -> list[Block]:
    """Parse the text `width:kind:a:b;…` of a table."""
    found = []
    for text in initializer.split(";"):
        width, kind, *numbers = text.split(":")
        found.append(Block(int(width), kind, float(numbers[0]), float(numbers[1]) if len(numbers) > 1 else 0.0))
    return found


def constant_row(initializer: str, left: float, value_dtype: tf.DType = tf.float32) -> NDArray[np.float32] | None:
    """Return the row that every new key begins with, float32 [dim], as it is stored; None if it depends on the key."""
    blocks = blocks_of(initializer)
    if any(block.kind != "constant" for block in blocks):
        return None
    row = np.concatenate([np.full(block.width, block.a, np.float32) for block in blocks])
    row = row if left == 1 else row * np.float32(left)
    return row.astype(value_dtype.as_numpy_dtype).astype(np.float32)


def drawn_rows(initializer: str, seed: int, left: float, keys: tf.Tensor) -> tf.Tensor:
    """Return the rows that keys, int64 [n], begin with: float32 [n, dim]."""
    blocks = blocks_of(initializer)
    dim = sum(block.width for block in blocks)
    words = tf.reshape(_words(seed, keys, (dim + 3) // 4), [tf.size(keys), (dim + 3) // 4 * 4])
    columns, at = [], 0
    for block in blocks:
        columns.append(_draw(block, words[:, at : at + block.width]))
        at += block.width
    rows = tf.concat(columns, 1)
    return rows if left == 1 else rows * np.float32(left)


def _words(seed: int, keys: tf.Tensor, groups: int) -> tf.Tensor:
    """Return the words of Philox of each key, int64 [n, groups, 4], of the range of 32 bits."""
    low, high = (tf.repeat(part[:, None], groups, 1) for part in (_low(keys), _high(keys)))
    zero = tf.zeros_like(low)
    counter = [low, high, zero + tf.range(groups, dtype=tf.int64), zero]
    key = [seed & _WORD, seed >> 32 & _WORD]
    for _ in range(_ROUNDS):
        # The product of two words may pass 2^63; what it wraps to has the same 64 bits.
        left, right = (tf.constant(by, tf.int64) * counter[at] for by, at in zip(_MULTIPLIERS, (0, 2), strict=True))
        counter = [
            tf.bitwise.bitwise_xor(tf.bitwise.bitwise_xor(_high(right), counter[1]), tf.constant(key[0], tf.int64)),
            _low(right),
            tf.bitwise.bitwise_xor(tf.bitwise.bitwise_xor(_high(left), counter[3]), tf.constant(key[1], tf.int64)),
            _low(left),
        ]
        key = [(word + step) & _WORD for word, step in zip(key, _STEPS, strict=True)]
    return tf.stack(counter, -1)


def _low(word: tf.Tensor) -> tf.Tensor:
    return tf.bitwise.bitwise_and(word, tf.constant(_WORD, tf.int64))


def _high(word: tf.Tensor) -> tf.Tensor:
    return _low(tf.bitwise.right_shift(word, tf.constant(32, tf.int64)))


def _draw(block: Block, words: tf.Tensor) -> tf.Tensor:
    """Return float32 values of words, as `Initializer::draw` does."""
    word = tf.cast(words, tf.float64)
    a, b = (tf.constant(value, tf.float64) for value in (block.a, block.b))
    if block.kind == "constant":
        return tf.fill(tf.shape(words), tf.constant(np.float32(block.a)))
    if block.kind == "uniform":
        value = tf.cast(a + tf.constant(block.b - block.a, tf.float64) * (word / _TWO_TO_32), tf.float32)
        end = np.float32(block.b)
        if block.a >= block.b:
            return value
        return tf.where(value < end, value, np.nextafter(end, np.float32(block.a)))
    p = (word + 0.5) / _TWO_TO_32
    if block.kind == "normal":
        return tf.cast(a + b * inverse_normal(p), tf.float32)
    if block.kind != "truncated_normal":
        raise ValueError(
            f"the initializer has the unknown distribution `{block.kind}`: freeze with the version that wrote it"
        )
    z = inverse_normal(_BELOW_CUT + (1 - 2 * _BELOW_CUT) * p)
    return tf.cast(a + b * tf.clip_by_value(z, tf.constant(-2.0, tf.float64), tf.constant(2.0, tf.float64)), tf.float32)
