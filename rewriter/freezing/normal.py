"""Logarithm and inverse normal distribution by stock ops, with the bits of `native/store/initializers/normal.cc`.

Wichura, "Algorithm AS 241" (PPND16), Applied Statistics 37 (1988).
"""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

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


def inverse_normal(p: tf.Tensor) -> tf.Tensor:
    """Return x with P(N(0, 1) < x) = p, of float64 between 0 and 1."""
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
    for one in coefficients[1:]:
        total = total * x + tf.constant(one, tf.float64)
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
