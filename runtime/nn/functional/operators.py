"""Python's operators with Paddle's rules for dtypes, named as in the module `operator`.

A converted model keeps `x + y` where both have one dtype, and calls these where Paddle and TensorFlow differ.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.nn.functional import elementwise
from runtime.nn.functional.matrix import matmul
from runtime.nn.functional.subscript import getitem
from runtime.nn.functional.tensors import promoted, tensor
from runtime.nn.weights.divided_ids import Divided, note

add, sub, mul = elementwise.add, elementwise.subtract, elementwise.multiply
floordiv, mod = elementwise.floor_divide, elementwise.mod


def divided(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return x % y, which knows x: an embedding whose ids give up y buckets looks x up in its place."""
    remainders = mod(x, y, name)
    x = tensor(x)
    if isinstance(y, int) and x.dtype == tf.int64:
        note(remainders, Divided(x, y))
    return remainders


def truediv(x: Any, y: Any) -> tf.Tensor:
    """Return x / y; ints become float32."""
    return tf.divide(*promoted(x, y, "/"))


def pow(x: Any, y: Any) -> tf.Tensor:
    """Return x ** y; with a float, ints become float32."""
    return tf.pow(*promoted(x, y, "**"))


def neg(x: Any) -> tf.Tensor:
    """Return -x."""
    return tf.negative(tensor(x))


def eq(x: Any, y: Any) -> tf.Tensor:
    """Return x == y, element by element."""
    return tf.equal(*promoted(x, y, "=="))


def ne(x: Any, y: Any) -> tf.Tensor:
    """Return x != y, element by element."""
    return tf.not_equal(*promoted(x, y, "!="))


def lt(x: Any, y: Any) -> tf.Tensor:
    """Return x < y."""
    return tf.less(*_ordered(x, y, "<"))


def le(x: Any, y: Any) -> tf.Tensor:
    """Return x <= y."""
    return tf.less_equal(*_ordered(x, y, "<="))


def gt(x: Any, y: Any) -> tf.Tensor:
    """Return x > y."""
    return tf.greater(*_ordered(x, y, ">"))


def ge(x: Any, y: Any) -> tf.Tensor:
    """Return x >= y."""
    return tf.greater_equal(*_ordered(x, y, ">="))


def _ordered(x: Any, y: Any, operator: str) -> tuple[tf.Tensor, tf.Tensor]:
    x, y = promoted(x, y, operator)
    return (tf.cast(x, tf.int32), tf.cast(y, tf.int32)) if x.dtype == tf.bool else (x, y)


__all__ = [
    "add",
    "divided",
    "eq",
    "floordiv",
    "ge",
    "getitem",
    "gt",
    "le",
    "lt",
    "matmul",
    "mod",
    "mul",
    "ne",
    "neg",
    "pow",
    "sub",
    "truediv",
]
