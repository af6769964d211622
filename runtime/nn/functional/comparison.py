"""Comparisons, logic and bits, and the choice between two tensors by a condition."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from runtime.nn.functional import operators
from runtime.nn.functional.indexing import nonzero
from runtime.nn.functional.tensors import is_number, promoted, rank, tensor


def equal(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return x == y, element by element; bool."""
    return operators.eq(x, y)


def not_equal(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return x != y, element by element; bool."""
    return operators.ne(x, y)


def less_than(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return x < y; bool."""
    return operators.lt(x, y)


def less_equal(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return x <= y; bool."""
    return operators.le(x, y)


def greater_than(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return x > y; bool."""
    return operators.gt(x, y)


def greater_equal(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return x >= y; bool."""
    return operators.ge(x, y)


def equal_all(x: Any, y: Any, name: str | None = None) -> tf.Tensor:
    """Return whether all elements are equal; a 0-d bool. Shapes that differ are not equal."""
    x, y = promoted(x, y, "==")
    if rank(x) != rank(y):
        return tf.constant(False)
    same = tf.reduce_all(tf.equal(tf.shape(x), tf.shape(y)))
    return tf.cond(same, lambda: tf.reduce_all(tf.equal(x, y)), lambda: tf.constant(False))


def _true(x: Any) -> tf.Tensor:
    return tensor(x, tf.bool)


def logical_and(x: Any, y: Any, out: Any = None, name: str | None = None) -> tf.Tensor:
    """Return where both are not 0; bool."""
    return tf.logical_and(_true(x), _true(y))


def logical_or(x: Any, y: Any, out: Any = None, name: str | None = None) -> tf.Tensor:
    """Return where one or both are not 0; bool."""
    return tf.logical_or(_true(x), _true(y))


def logical_xor(x: Any, y: Any, out: Any = None, name: str | None = None) -> tf.Tensor:
    """Return where one and only one is not 0; bool."""
    return tf.math.logical_xor(_true(x), _true(y))


def logical_not(x: Any, out: Any = None, name: str | None = None) -> tf.Tensor:
    """Return where x is 0; bool."""
    return tf.logical_not(_true(x))


def bitwise_and(x: Any, y: Any, out: Any = None, name: str | None = None) -> tf.Tensor:
    """Return the bits that both ints have, or where both bools are true."""
    x, y = promoted(x, y, "&")
    return tf.logical_and(x, y) if x.dtype == tf.bool else tf.bitwise.bitwise_and(x, y)


def bitwise_or(x: Any, y: Any, out: Any = None, name: str | None = None) -> tf.Tensor:
    """Return the bits that one of the ints has, or where one bool is true."""
    x, y = promoted(x, y, "|")
    return tf.logical_or(x, y) if x.dtype == tf.bool else tf.bitwise.bitwise_or(x, y)


def bitwise_xor(x: Any, y: Any, out: Any = None, name: str | None = None) -> tf.Tensor:
    """Return the bits that only one of the ints has, or where bools differ."""
    x, y = promoted(x, y, "^")
    return tf.math.logical_xor(x, y) if x.dtype == tf.bool else tf.bitwise.bitwise_xor(x, y)


def bitwise_not(x: Any, out: Any = None, name: str | None = None) -> tf.Tensor:
    """Return the bits that the ints do not have, or where bools are false."""
    x = tensor(x)
    return tf.logical_not(x) if x.dtype == tf.bool else tf.bitwise.invert(x)


def isclose(
    x: Any, y: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False, name: str | None = None
) -> tf.Tensor:
    """Return where |x - y| <= atol + rtol · |y|; bool."""
    x, y = promoted(x, y, "==")
    close = (tf.abs(x - y) <= atol + rtol * tf.abs(y)) | tf.equal(x, y)
    return close | (tf.math.is_nan(x) & tf.math.is_nan(y)) if equal_nan else close


def allclose(
    x: Any, y: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False, name: str | None = None
) -> tf.Tensor:
    """Return whether `isclose` holds everywhere; a 0-d bool."""
    return tf.reduce_all(isclose(x, y, rtol, atol, equal_nan))


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Return x where the condition holds and y elsewhere; all three broadcast.

    Args:
        condition: bool.
        x: tensor or number; a Python float counts as float64 and an int as int64, of shape [1].
        y: likewise.
        name: not used.

    Returns:
        Without x and y: for each dimension the indices [n, 1] at which the condition holds, int64.
    """
    if x is None and y is None:
        return nonzero(condition, as_tuple=True)
    if x is None or y is None:
        raise ValueError("where: one of x and y is missing: give both, or none for indices")
    x, y = (tensor(np.array([value])) if is_number(value) else tensor(value) for value in (x, y))
    x, y = promoted(x, y, "+")
    return tf.where(_true(condition), x, y)


def masked_fill(x: Any, mask: Any, value: Any, name: str | None = None) -> tf.Tensor:
    """Return `value`, a number or a tensor, where the bool mask is true, and x elsewhere; all broadcast."""
    x, mask = tensor(x), tensor(mask)
    if is_number(value):
        return tf.where(mask, tf.cast(value, x.dtype), x)
    x, value = promoted(x, tensor(value), "+")
    return tf.where(mask, value, x)


__all__ = [
    "allclose",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "equal",
    "equal_all",
    "greater_equal",
    "greater_than",
    "isclose",
    "less_equal",
    "less_than",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "masked_fill",
    "not_equal",
    "where",
]
