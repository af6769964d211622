"""Functions of two tensors element by element, and those with further numbers: scale, clip, lerp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from runtime.nn.functional.tensors import is_number, number, promoted, tensor


def _in_ints(compute: Callable[..., tf.Tensor], x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """Compute on bools as on ints: TensorFlow has no arithmetic for them."""
    if x.dtype != tf.bool:
        return compute(x, y)
    return tf.cast(compute(tf.cast(x, tf.int32), tf.cast(y, tf.int32)), tf.bool)


def add(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return x + y, which broadcast."""
    return _in_ints(tf.add, *promoted(x, y, "+"))


def subtract(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return x - y, which broadcast."""
    return _in_ints(tf.subtract, *promoted(x, y, "-"))


def multiply(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return x · y, which broadcast."""
    return _in_ints(tf.multiply, *promoted(x, y, "*"))


def divide(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return x / y, which broadcast; ints are divided to ints, rounded towards zero (the operator `/` makes floats)."""
    x, y = promoted(x, y, "//")
    return tf.divide(x, y) if x.dtype.is_floating else _in_ints(tf.truncatediv, x, y)


def floor_divide(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return x / y rounded down; no gradient."""
    x, y = promoted(x, y, "//")
    return tf.stop_gradient(tf.math.floordiv(x, y))


def mod(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return the remainder of `floor_divide`, with the sign of y; no gradient."""
    x, y = promoted(x, y, "%")
    return tf.stop_gradient(tf.math.floormod(x, y))


remainder = floor_mod = mod


def pow(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return x to the power y with the dtype of x, to which y is cast: ints to the power 0.5 are all 1."""
    x = tensor(x)
    if is_number(y) and not x.dtype.is_floating:
        return tf.cast(tf.pow(tf.cast(x, tf.float64), tf.constant(float(int(y)), tf.float64)), x.dtype)
    return tf.pow(*promoted(x, y, "**"))


def maximum(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return the larger element; of equal ones y gets the gradient."""
    x, y = promoted(x, y, "max")
    return tf.where(x > y, x, y)


def minimum(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return the smaller element; of equal ones y gets the gradient."""
    x, y = promoted(x, y, "min")
    return tf.where(x < y, x, y)


def fmax(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return the larger element, the other one of a NaN; of equal ones x gets the gradient."""
    x, y = promoted(x, y, "max")
    return tf.where((x >= y) | _nan(y), x, y)


def fmin(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return the smaller element, the other one of a NaN; of equal ones x gets the gradient."""
    x, y = promoted(x, y, "min")
    return tf.where((x <= y) | _nan(y), x, y)


def _nan(x: tf.Tensor) -> tf.Tensor:
    return tf.math.is_nan(x) if x.dtype.is_floating else tf.zeros_like(x, tf.bool)


def atan2(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return the angle of the point (y, x); ints become float64."""
    x, y = promoted(x, y, "atan2")
    kind = x.dtype if x.dtype.is_floating else tf.float64
    return tf.atan2(tf.cast(x, kind), tf.cast(y, kind))


def clip(x: Any, min: Any = None, max: Any = None, name: str | None = None) -> tf.Tensor:
    """Return x cut to [min, max]; exactly on a bound there is no gradient.

    A bound that is not given is the smallest or largest number of float32 (of ints: nearly that of the dtype), as in
    Paddle, so that infinities are cut too.
    """
    x = tensor(x)
    least, most = _limits(x.dtype)
    low, high = _bound(least if min is None else min, x.dtype), _bound(most if max is None else max, x.dtype)
    cut = tf.stop_gradient(tf.where(x < low, low, tf.where(x > high, high, x)))
    return tf.where((x > low) & (x < high), x, cut)


def _limits(dtype: tf.DType) -> tuple[Any, Any]:
    if dtype == tf.int32:
        return np.iinfo(np.int32).min, np.iinfo(np.int32).max - 2**7
    if dtype == tf.int64:
        return np.iinfo(np.int64).min, np.iinfo(np.int64).max - 2**39
    kind = np.float16 if dtype == tf.float16 else np.float32
    return np.finfo(kind).min, np.finfo(kind).max


def _bound(value: Any, dtype: tf.DType) -> tf.Tensor:
    return tf.reshape(number(value, dtype) if is_number(value) else tensor(value, dtype), ())


def increment(x: Any, value: float = 1.0, name: str | None = None) -> tf.Tensor:
    """Return x + value with the dtype of x; in Paddle x itself changes, so the caller assigns the result."""
    x = tensor(x)
    return x + number(value, x.dtype)


def add_n(inputs: Any, name: str | None = None) -> tf.Tensor:
    """Return the sum of a list of tensors of one shape, or the tensor itself."""
    return tf.add_n([tensor(x) for x in inputs]) if isinstance(inputs, (list, tuple)) else tf.identity(tensor(inputs))


def lerp(x: Any, y: Any, weight: Any, name: str | None = None) -> tf.Tensor:
    """Return x + weight · (y - x); no gradient to the weight."""
    x, y = promoted(x, y)
    return x + tf.stop_gradient(promoted(x, weight, "weight")[1]) * (y - x)


def stanh(x: Any, scale_a: float = 0.67, scale_b: float = 1.7159, name: str | None = None) -> tf.Tensor:
    """Return scale_b · tanh(scale_a · x)."""
    return scale_b * tf.tanh(scale_a * tensor(x))


def trunc(input: Any, name: str | None = None) -> tf.Tensor:
    """Return the elements rounded towards zero; no gradient."""
    x = tensor(input)
    return tf.stop_gradient(tf.where(x < 0, tf.math.ceil(x), tf.floor(x))) if x.dtype.is_floating else x


def cast(x: Any, dtype: Any) -> tf.Tensor:
    """Return x with another dtype; floats become ints by cutting, and bools by comparison with 0."""
    return tensor(x, dtype)


__all__ = [
    "add",
    "add_n",
    "atan2",
    "cast",
    "clip",
    "divide",
    "floor_divide",
    "floor_mod",
    "fmax",
    "fmin",
    "increment",
    "lerp",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "pow",
    "remainder",
    "stanh",
    "subtract",
    "trunc",
]
