"""What a new row begins with, computed by stock ops with the bits of the engine: `native/store/initializers`.

A row is a function of seed and key: Philox4x32-10 draws four words for each four columns, and the distribution of a
block of columns makes a float32 of a word, in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

_WORD = 0xFFFFFFFF
_ROUNDS = 10
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_STEPS = (0x9E3779B9, 0xBB67AE85)
_TWO_TO_32 = 4294967296.0
_BELOW_CUT = 0.022750131948179207  # P(N(0, 1) < -2)
_SQRT_HALF = 0x3FE6A09E667F3BCD
_LOG_2 = 0.69314718055994530942
# Numerator and denominator, highest power first.
_CENTRE = (
    (
        2.5090809287301226727e3,
        3.3430575583588128105e4,
        6.7265770927008700853e4,
        4.5921953931549871457e4,
        1.3731693765509461125e4,
        1.9715909503065514427e3,
        1.3314166789178437745e2,
        3.3871328727963666080e0,
    ),
    (
        5.2264952788528545610e3,
        2.8729085735721942674e4,
        3.9307895800092710610e4,
        2.1213794301586595867e4,
        5.3941960214247511077e3,
        6.8718700749205790830e2,
        4.2313330701600911252e1,
        1.0,
    ),
)
_NEAR = (
    (
        7.74545014278341407640e-4,
        2.27238449892691845833e-2,
        2.41780725177450611770e-1,
        1.27045825245236838258e0,
        3.64784832476320460504e0,
        5.76949722146069140550e0,
        4.63033784615654529590e0,
        1.42343711074968357734e0,
    ),
    (
        1.05075007164441684324e-9,
        5.47593808499534494600e-4,
        1.51986665636164571966e-2,
        1.48103976427480074590e-1,
        6.89767334985100004550e-1,
        1.67638483018380384940e0,
        2.05319162663775882187e0,
        1.0,
    ),
)
_FAR = (
    (
        2.01033439929228813265e-7,
        2.71155556874348757815e-5,
        1.24266094738807843860e-3,
        2.65321895265761230930e-2,
        2.96560571828504891230e-1,
        1.78482653991729133580e0,
        5.46378491116411436990e0,
        6.65790464350110377720e0,
    ),
    (
        2.04426310338993978564e-15,
        1.42151175831644588870e-7,
        1.84631831751005468180e-5,
        7.86869131145613259100e-4,
        1.48753612908506148525e-2,
        1.36929880922735805310e-1,
        5.99832206555887937690e-1,
        1.0,
    ),
)


@dataclass(frozen=True)
class Block:
    """A distribution of some columns: constant (a), uniform [a, b), normal or truncated_normal (mean a, stddev b)."""

    width: int
    kind: str
    a: float
    b: float


def blocks_of(initializer: str) -> list[Block]:
    """Parse the text `width:kind:a:b;…` of a table."""
    blocks = []
    for text in initializer.split(";"):
        width, kind, *numbers = text.split(":")
        blocks.append(Block(int(width), kind, float(numbers[0]), float(numbers[1]) if len(numbers) > 1 else 0.0))
    return blocks


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
        return tf.cast(a + b * _inverse_normal(p), tf.float32)
    if block.kind != "truncated_normal":
        raise ValueError(
            f"the initializer has the unknown distribution `{block.kind}`: freeze with the version that wrote it"
        )
    z = _inverse_normal(_BELOW_CUT + (1 - 2 * _BELOW_CUT) * p)
    return tf.cast(a + b * tf.clip_by_value(z, tf.constant(-2.0, tf.float64), tf.constant(2.0, tf.float64)), tf.float32)


def _inverse_normal(p: tf.Tensor) -> tf.Tensor:
    """Return x with P(N(0, 1) < x) = p, of float64 between 0 and 1: with the bits of `initializers/normal.cc`.

    Wichura, "Algorithm AS 241" (PPND16), Applied Statistics 37 (1988).
    """
    q = p - 0.5
    square = 0.180625 - q * q
    centre = q * _polynomial(_CENTRE[0], square) / _polynomial(_CENTRE[1], square)
    r = tf.sqrt(-_log(tf.where(q < 0, p, 1 - p)))
    near = _polynomial(_NEAR[0], r - 1.6) / _polynomial(_NEAR[1], r - 1.6)
    far = _polynomial(_FAR[0], r - 5) / _polynomial(_FAR[1], r - 5)
    tail = tf.where(r <= 5, near, far)
    return tf.where(tf.abs(q) <= 0.425, centre, tf.where(q < 0, -tail, tail))


def _polynomial(coefficients: Sequence[float], x: tf.Tensor) -> tf.Tensor:
    """Return the value of a polynomial by Horner's rule."""
    total: tf.Tensor = tf.fill(tf.shape(x), tf.constant(coefficients[0], tf.float64))
    for coefficient in coefficients[1:]:
        total = total * x + tf.constant(coefficient, tf.float64)
    return total


def _log(x: tf.Tensor) -> tf.Tensor:
    """Return the natural logarithm of positive normal numbers."""
    # x = m * 2^e with m in [sqrt(1/2), sqrt(2)), then log m = 2 atanh((m - 1) / (m + 1)).
    bits = tf.bitcast(x, tf.int64)
    exponent = tf.bitwise.right_shift(bits - tf.constant(_SQRT_HALF, tf.int64), tf.constant(52, tf.int64))
    m = tf.bitcast(bits - tf.bitwise.left_shift(exponent, tf.constant(52, tf.int64)), tf.float64)
    s = (m - 1) / (m + 1)
    square = s * s
    series = tf.zeros_like(square)
    for k in range(23, 0, -2):
        series = series * square + tf.constant(1.0 / k, tf.float64)
    return tf.cast(exponent, tf.float64) * tf.constant(_LOG_2, tf.float64) + 2 * s * series
