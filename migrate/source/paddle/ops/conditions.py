"""Conditions under which plain TensorFlow computes what Paddle does."""

from __future__ import annotations

from collections.abc import Callable

from migrate.source.paddle.abstract.values import Size, Tensor, Value
from migrate.source.paddle.ops.shapes import tensor
from migrate.source.paddle.ops.spec import Arguments


def same_dtype(bound: Arguments) -> bool:
    """Whether the first two arguments have one dtype, or one is a Python number that takes that of the other."""
    left, right = list(bound.values())[:2]
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        return left.dtype is not None and left.dtype == right.dtype and left.dtype != "bool"
    known, other = (left, right) if isinstance(left, Tensor) else (right, left)
    if not isinstance(known, Tensor) or known.dtype is None or isinstance(other, bool | Size):
        return False
    return known.floating if isinstance(other, float) else isinstance(other, int) and known.dtype != "bool"


def both_tensors(bound: Arguments) -> bool:
    """Whether the first two arguments are tensors of one dtype."""
    left, right = list(bound.values())[:2]
    return isinstance(left, Tensor) and isinstance(right, Tensor) and same_dtype(bound)


def booleans(bound: Arguments) -> bool:
    """Whether the first two arguments are tensors of truth values."""
    left, right = list(bound.values())[:2]
    return all(isinstance(item, Tensor) and item.dtype == "bool" for item in (left, right))


def floating(bound: Arguments) -> bool:
    """Whether the first argument is of floating point numbers."""
    first = next(iter(bound.values()))
    return isinstance(first, Tensor) and first.floating


def list_of_one_dtype(value: Value) -> bool:
    """Whether a value is a list of tensors of one known dtype."""
    if not isinstance(value, list | tuple):
        return False
    dtypes = {tensor(item).dtype if isinstance(item, Tensor) else None for item in value}
    return len(dtypes) == 1 and None not in dtypes


def plain_dtype(bound: Arguments) -> bool:
    """Whether TensorFlow understands `dtype` as Paddle does, for which Python's `int` and `float` have 64 bits."""
    given = bound["dtype"]
    return given not in ("int", "float") and getattr(given, "name", "") not in ("builtins.int", "builtins.float")


def both(*conditions: Callable[[Arguments], bool]) -> Callable[[Arguments], bool]:
    """Whether all conditions hold."""
    return lambda bound: all(condition(bound) for condition in conditions)
