"""What all functions need: values as tensors, dtypes by name, sizes that are known or read at run time.

Operands of different dtypes follow Paddle's rules, measured on Paddle 2.6.2:

- A Python number takes the tensor's dtype, except a float beside an int or bool tensor: both become float32.
- `/` makes float32 of ints and bools.
- float32 and float64 with `+`, `-`, `*` become float64. Any other tensor on the right takes the dtype of the left one:
  an int32 tensor plus a float32 one is int32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf


def dtype_of(dtype: Any, default: Any = None) -> tf.DType:
    """Return the dtype that a name, a NumPy or a TensorFlow dtype means; None means `default`.

    Python's `int` and `float`, and their names, are int64 and float64, as in Paddle.
    """
    wanted = default if dtype is None else dtype
    wide = {int: tf.int64, float: tf.float64, "int": tf.int64, "float": tf.float64}
    return wide[wanted] if isinstance(wanted, (type, str)) and wanted in wide else tf.as_dtype(wanted)


def tensor(x: Any, dtype: Any = None) -> tf.Tensor:
    """Return `x` as a tensor; Python's ints become int64, its floats float32, and `dtype` is cast to.

    Args:
        x: tensor, variable, parameter, array, number, or lists of these.
        dtype: of the result; None: as given.
    """
    if not isinstance(x, tf.Tensor):
        x = _converted(x)
    return x if dtype is None else tf.cast(x, dtype_of(dtype))


def _converted(x: Any) -> tf.Tensor:
    if isinstance(x, (bool, np.ndarray, np.generic)):
        return tf.constant(x)
    if isinstance(x, int):
        return tf.constant(x, tf.int64)
    if isinstance(x, float):
        return tf.constant(x, tf.float32)
    if isinstance(x, (list, tuple, range)):
        return _converted_list(list(x))
    return tf.convert_to_tensor(x)


def _converted_list(values: list[Any]) -> tf.Tensor:
    if _has_tensors(values):
        return tf.stack([tensor(value) for value in values])
    array = np.array(values)
    return tf.constant(array.astype(np.float32) if array.dtype == np.float64 else array)


def _has_tensors(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_has_tensors(part) for part in value)
    return not isinstance(value, (bool, int, float, complex, str, np.ndarray, np.generic, range))


def rank(x: tf.Tensor) -> int:
    """Return the number of dimensions.

    Raises:
        ValueError: it is not known when the graph is built.
    """
    if x.shape.rank is None:
        raise ValueError(f"the number of dimensions of {x.name} is not known: give it a shape with `set_shape`")
    return int(x.shape.rank)


def sizes(x: tf.Tensor) -> list[Any]:
    """Return the size of each dimension: an int where it is known, else a scalar int32 tensor."""
    known = [x.shape[i] for i in range(rank(x))]
    known = [getattr(size, "value", size) for size in known]
    if all(size is not None for size in known):
        return known
    dynamic = tf.shape(x)
    return [dynamic[i] if size is None else int(size) for i, size in enumerate(known)]


def size_list(shape: Any) -> list[Any]:
    """Return a shape as a list whose items are ints, or scalar int32 tensors where they are known at run time only.

    Args:
        shape: an int, a list or tuple of ints and tensors, a `TensorShape`, or a 1-D tensor of known length.
    """
    if isinstance(shape, tf.TensorShape):
        shape = shape.as_list()
    if isinstance(shape, (int, np.integer)):
        return [int(shape)]
    if isinstance(shape, (list, tuple)):
        return [_size(size) for size in shape]
    values = tensor(shape)
    if values.shape.rank == 0:
        return [_size(values)]
    if values.shape.num_elements() is None:
        raise ValueError(f"the length of the shape {values.name} is not known: give a list of sizes")
    return [_size(size) for size in tf.unstack(values)]


def _size(size: Any) -> Any:
    if isinstance(size, (int, np.integer)):
        return int(size)
    value = tensor(size)
    known = tf.get_static_value(value)
    if known is not None:
        return int(np.reshape(known, ()))
    return tf.reshape(tf.cast(value, tf.int32), ())


def static(shape: Sequence[Any]) -> list[int | None]:
    """Return the sizes that are known, with None for the others."""
    return [size if isinstance(size, int) else None for size in shape]


def as_shape(shape: Sequence[Any]) -> Any:
    """Return a list of sizes as what TensorFlow takes: the list if all are known, else an int32 tensor."""
    if all(isinstance(size, int) for size in shape):
        return [int(size) for size in shape]
    return tf.stack([tf.cast(size, tf.int32) for size in shape])


def with_static(x: tf.Tensor, shape: Sequence[Any]) -> tf.Tensor:
    """Return `x`, of which the sizes in `shape` that are ints are made known."""
    x.set_shape(static(shape))
    return x


def axis_of(axis: Any, dimensions: int) -> int:
    """Return an axis counted from the front.

    Raises:
        ValueError: there is no such axis.
    """
    value = axis if isinstance(axis, (int, np.integer)) else tf.get_static_value(tensor(axis))
    if value is None:
        raise ValueError("the axis is known at run time only: give it as an int")
    number = int(np.reshape(value, ()))
    if not -max(dimensions, 1) <= number < max(dimensions, 1):
        raise ValueError(f"axis {number} is not one of a tensor of {dimensions} dimensions: give one of them")
    return number % dimensions if dimensions else 0


def axes_of(axis: Any, dimensions: int) -> list[int]:
    """Return axes counted from the front: those of `axis`, and all for None or an empty list."""
    if axis is None or (isinstance(axis, (list, tuple)) and not axis):
        return list(range(dimensions))
    if isinstance(axis, (list, tuple)):
        return [axis_of(one, dimensions) for one in axis]
    return [axis_of(axis, dimensions)] if dimensions else []


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
