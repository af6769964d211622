"""Functions of eager programs alone: the shapes of what they return depend on values, or they say what a tensor is."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from runtime.nn import functional
from runtime.nn.functional import operators


def unique(
    x: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    dtype: Any = "int64",
    name: str | None = None,
) -> Any:
    """Return the different elements, or parts along an axis, in order; no gradient goes through them.

    Args:
        x: tensor.
        return_index: also the first place of each.
        return_inverse: also the number of each element among them.
        return_counts: also how often each is there.
        axis: None: of all elements.
        dtype: of these numbers.
        name: not used.
    """
    del name
    values = np.asarray(x)
    axis = axis[0] if isinstance(axis, list | tuple) and axis else axis if axis != [] else None
    parts = np.unique(values, True, True, True, axis=axis)
    wanted = (return_index, return_inverse, return_counts)
    numbers = [
        tf.constant(part.reshape(-1), tf.as_dtype(dtype)) for part, want in zip(parts[1:], wanted, strict=True) if want
    ]
    return (tf.constant(parts[0]), *numbers) if numbers else tf.constant(parts[0])


def bincount(x: Any, weights: Any = None, minlength: int = 0, name: str | None = None) -> tf.Tensor:
    """Return how often each number from 0 is there, or the sums of the weights of its places."""
    counts = np.bincount(np.asarray(x), None if weights is None else np.asarray(weights), minlength)
    return tf.constant(counts if weights is None else counts.astype(np.asarray(weights).dtype))


def is_floating_point(x: Any) -> bool:
    """Say whether the elements are floats."""
    return bool(x.dtype.is_floating)


def is_integer(x: Any) -> bool:
    """Say whether the elements are ints."""
    return bool(x.dtype.is_integer)


def is_empty(x: Any, name: str | None = None) -> tf.Tensor:
    """Return whether there is no element."""
    return tf.constant(0 in list(x.shape))


def rank(input: Any) -> tf.Tensor:
    """Return the number of dimensions."""
    return tf.constant(len(input.shape), tf.int32)


def tolist(x: Any) -> Any:
    """Return the elements as lists of numbers."""
    return np.asarray(x).tolist()


def batch(reader: Callable[[], Any], batch_size: int, drop_last: bool = False) -> Callable[[], Iterator[list[Any]]]:
    """Return a reader of lists of samples."""

    def batches() -> Iterator[list[Any]]:
        samples = iter(reader())
        while group := list(itertools.islice(samples, batch_size)):
            if len(group) == batch_size or not drop_last:
                yield group

    return batches


def set_default_dtype(d: Any) -> None:
    """Take float32.

    Raises:
        TypeError: it is another dtype.
    """
    if tf.as_dtype(d) != tf.float32:
        raise TypeError(f"paddle.set_default_dtype got {d}, and weights are float32 here: leave it out")


#: What a program is told that reads an element in a graph.
NO_ELEMENTS = (
    "Python code reads a value of a tensor, and has none while the network is traced into a graph: compute "
    "with tensors, such as by paddle.where, or skip this code where `self.training` is False"
)


def is_dtype(value: Any) -> bool:
    """Whether an argument of `Tensor.to` is a dtype, not a device."""
    return isinstance(value, tf.DType | np.dtype | type) or (
        isinstance(value, str) and value.split(":")[0] not in ("cpu", "gpu", "xpu", "npu")
    )


def require_elements(value: tf.Tensor) -> None:
    """Raise NotImplementedError where a value is of a graph, where no element is known."""
    if tf.is_symbolic_tensor(value):
        raise NotImplementedError(NO_ELEMENTS)


#: Functions that tensors have as methods, too.
METHODS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (unique, bincount, is_floating_point, is_integer, is_empty, rank)
}
#: Functions of the module `paddle` alone.
TOP: dict[str, Callable[..., Any]] = {function.__name__: function for function in (tolist, batch, set_default_dtype)}
_CONSTANT = (
    *("isnan", "isinf", "isfinite", "floor_divide", "mod", "remainder", "floor_mod", "argmax", "argmin", "shape"),
    *("equal", "not_equal", "greater_than", "greater_equal", "less_than", "less_equal", "equal_all", "isclose"),
    *("allclose", "nonzero", "zeros_like", "ones_like", "full_like"),
)
#: Functions and operators that have no gradient in Paddle: their values move in steps, or follow from shapes.
CONSTANT = frozenset(getattr(functional, name) for name in _CONSTANT) | frozenset(
    getattr(operators, name) for name in ("floordiv", "mod", "eq", "ne", "lt", "le", "gt", "ge")
)
