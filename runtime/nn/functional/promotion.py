"""Paddle's rules for operands of different dtypes, measured on Paddle 2.6.2.

- A Python number takes the tensor's dtype, except a float beside an int or bool tensor: both become float32.
- `/` makes float32 of ints and bools.
- float32 and float64 with `+`, `-`, `*` become float64. Any other tensor on the right takes the dtype of the left one:
  an int32 tensor plus a float32 one is int32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from runtime.nn.functional.tensors import tensor

_WIDENING = ("+", "-", "*")


def promoted(x: Any, y: Any, operator: str = "+") -> tuple[tf.Tensor, tf.Tensor]:
    """Return both operands with the dtype that Paddle computes in.

    Args:
        x: left operand: a tensor or a number.
        y: right operand.
        operator: as written in Python, such as `+`, `/`, `**`, `<`.
    """
    if is_number(x) and is_number(y):
        y = tensor(y)
    if is_number(y):
        left, right = _with_number(_divisible(tensor(x), operator), y)
    elif is_number(x):
        right, left = _with_number(_divisible(tensor(y), operator), x)
    else:
        left, right = _of_tensors(tensor(x), tensor(y), operator)
    return _divisible(left, operator), _divisible(right, operator)


def _divisible(x: tf.Tensor, operator: str) -> tf.Tensor:
    return tf.cast(x, tf.float32) if operator == "/" and not x.dtype.is_floating else x


def is_number(x: Any) -> bool:
    """Say whether `x` is a Python or NumPy number, which has no say in the dtype of the result."""
    return isinstance(x, (bool, int, float, np.number, np.bool_))


def _with_number(x: tf.Tensor, value: Any) -> tuple[tf.Tensor, tf.Tensor]:
    if isinstance(value, float) and not x.dtype.is_floating:
        x = tf.cast(x, tf.float32)
    return x, number(value, x.dtype)


def _of_tensors(x: tf.Tensor, y: tf.Tensor, operator: str) -> tuple[tf.Tensor, tf.Tensor]:
    if x.dtype == y.dtype:
        return x, y
    if operator in _WIDENING and {x.dtype, y.dtype} == {tf.float32, tf.float64}:
        return tf.cast(x, tf.float64), tf.cast(y, tf.float64)
    return x, tf.cast(y, x.dtype)


def number(value: Any, dtype: tf.DType) -> tf.Tensor:
    """Return a number as a 0-d tensor; a float becomes an int by cutting."""
    return tf.constant(np.asarray(value).astype(dtype.as_numpy_dtype))
