"""Reductions over axes: None, an int or a list of axes; no axis gives a 0-d tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime.nn.functional.elementwise import cast
from runtime.nn.functional.tensors import axes_of, axis_of, dtype_of, rank, sizes, tensor


def sum(x: Any, axis: Any = None, dtype: Any = None, keepdim: bool = False, name: str | None = None) -> tf.Tensor:
    """Return the sum; of int32 and bool it is int64.

    Args:
        x: tensor.
        axis: None and [] mean all.
        dtype: the elements are cast to it before.
        keepdim: axes stay with size 1.
        name: not used.
    """
    x = tensor(x)
    if dtype is not None:
        x = tensor(x, dtype)
    elif x.dtype in (tf.bool, tf.int32):
        x = tf.cast(x, tf.int64)
    return tf.reduce_sum(x, axes_of(axis, rank(x)), keepdims=keepdim)


def mean(x: Any, axis: Any = None, keepdim: bool = False, name: str | None = None) -> tf.Tensor:
    """Return the mean, with the dtype of x: that of ints is cut to an int."""
    x = tensor(x)
    axes = axes_of(axis, rank(x))
    if x.dtype.is_floating:
        return tf.reduce_mean(x, axes, keepdims=keepdim)
    total = tf.reduce_sum(tf.cast(x, tf.int64), axes, keepdims=keepdim)
    return tf.cast(tf.truncatediv(total, tf.cast(_count(x, axes), tf.int64)), x.dtype)


def _count(x: tf.Tensor, axes: list[int]) -> Any:
    count: Any = 1
    for axis in axes:
        count = count * sizes(x)[axis]
    return count


def _extreme(reduce: Callable[..., tf.Tensor], x: tf.Tensor, axis: Any, keepdim: bool) -> tf.Tensor:
    """Reduce so that each element that equals the result gets the whole gradient; TensorFlow divides it among them."""
    axes = axes_of(axis, rank(x))
    if not x.dtype.is_floating:
        return reduce(x, axes, keepdims=keepdim)

    def reduced(values: tf.Tensor) -> Any:
        result = reduce(values, axes, keepdims=True)

        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            return tf.where(tf.equal(values, result), upstream, tf.zeros_like(upstream))

        return result, gradient

    kept = tf.custom_gradient(reduced)(x)
    kept.set_shape([1 if i in axes else size for i, size in enumerate(x.shape)])
    return kept if keepdim else tf.squeeze(kept, axes)


def max(x: Any, axis: Any = None, keepdim: bool = False, name: str | None = None) -> tf.Tensor:
    """Return the largest element; all elements that equal it get the gradient."""
    return _extreme(tf.reduce_max, tensor(x), axis, keepdim)


def min(x: Any, axis: Any = None, keepdim: bool = False, name: str | None = None) -> tf.Tensor:
    """Return the smallest element; all elements that equal it get the gradient."""
    return _extreme(tf.reduce_min, tensor(x), axis, keepdim)


def amax(x: Any, axis: Any = None, keepdim: bool = False, name: str | None = None) -> tf.Tensor:
    """Return the largest element; those that equal it share the gradient."""
    x = tensor(x)
    return tf.reduce_max(x, axes_of(axis, rank(x)), keepdims=keepdim)


def amin(x: Any, axis: Any = None, keepdim: bool = False, name: str | None = None) -> tf.Tensor:
    """Return the smallest element; those that equal it share the gradient."""
    x = tensor(x)
    return tf.reduce_min(x, axes_of(axis, rank(x)), keepdims=keepdim)


def prod(x: Any, axis: Any = None, keepdim: bool = False, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """Return the product. Its gradient is right for factors of 0 too, where Paddle's is NaN."""
    x = tensor(x, dtype)
    return tf.reduce_prod(x, axes_of(axis, rank(x)), keepdims=keepdim)


def any(x: Any, axis: Any = None, keepdim: bool = False, name: str | None = None) -> tf.Tensor:
    """Return whether one element or more is not 0; bool."""
    x = tensor(x, tf.bool)
    return tf.reduce_any(x, axes_of(axis, rank(x)), keepdims=keepdim)


def all(x: Any, axis: Any = None, keepdim: bool = False, name: str | None = None) -> tf.Tensor:
    """Return whether all elements are not 0; bool."""
    x = tensor(x, tf.bool)
    return tf.reduce_all(x, axes_of(axis, rank(x)), keepdims=keepdim)


def _along(x: tf.Tensor, axis: Any) -> tuple[tf.Tensor, int]:
    if axis is None:
        return tf.reshape(x, [-1]), 0
    return x, axis_of(axis, rank(x))


def cumsum(x: Any, axis: Any = None, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """Return the sums up to each element; no axis: of the flattened tensor."""
    values, along = _along(tensor(x, dtype), axis)
    return tf.cumsum(values, along) if rank(values) else values


def cumprod(x: Any, dim: Any = None, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """Return the products up to each element along `dim`."""
    values, along = _along(tensor(x, dtype), dim)
    return tf.math.cumprod(values, along) if rank(values) else values


def argmax(x: Any, axis: Any = None, keepdim: bool = False, dtype: Any = "int64", name: str | None = None) -> tf.Tensor:
    """Return the index of the first largest element; no axis: in the flattened tensor."""
    return _arg(tf.argmax, tensor(x), axis, keepdim, dtype)


def argmin(x: Any, axis: Any = None, keepdim: bool = False, dtype: Any = "int64", name: str | None = None) -> tf.Tensor:
    """Return the index of the first smallest element; no axis: in the flattened tensor."""
    return _arg(tf.argmin, tensor(x), axis, keepdim, dtype)


def _arg(find: Callable[..., tf.Tensor], x: tf.Tensor, axis: Any, keepdim: bool, dtype: Any) -> tf.Tensor:
    values, along = _along(x, axis)
    if not rank(values):
        return tf.zeros([], dtype_of(dtype))
    index = tf.cast(find(values, along, output_type=tf.int64), dtype_of(dtype))
    if not keepdim:
        return index
    return tf.reshape(index, [1] * rank(x)) if axis is None else tf.expand_dims(index, along)


def var(x: Any, axis: Any = None, unbiased: bool = True, keepdim: bool = False, name: str | None = None) -> tf.Tensor:
    """Return the mean squared distance from the mean, over n - 1 (`unbiased`, at least 1) or n."""
    x = tensor(x)
    axes = axes_of(axis, rank(x))
    squares = tf.square(x - tf.reduce_mean(x, axes, keepdims=True))
    count = tf.cast(_count(x, axes), x.dtype)
    if unbiased:
        count = tf.where(count > 1, count - 1, tf.ones_like(count))
    return tf.reduce_sum(squares, axes, keepdims=keepdim) / count


def std(x: Any, axis: Any = None, unbiased: bool = True, keepdim: bool = False, name: str | None = None) -> tf.Tensor:
    """Return the square root of `var`."""
    return tf.sqrt(var(x, axis, unbiased, keepdim))


def logsumexp(x: Any, axis: Any = None, keepdim: bool = False, name: str | None = None) -> tf.Tensor:
    """Return log(sum(exp(x))), without overflow."""
    x = tensor(x)
    return tf.reduce_logsumexp(x, axes_of(axis, rank(x)), keepdims=keepdim)


def norm(x: Any, p: Any = "fro", axis: Any = None, keepdim: bool = False, name: str | None = None) -> tf.Tensor:
    """Return (sum |x|^p)^(1/p), whose gradient is 0 where the result is 0.

    Args:
        x: floats.
        p: "fro" is 2; also 0 (how many are not 0), inf and -inf (the largest and smallest |x|).
        axis: None means all.
        keepdim: axes stay with size 1.
        name: not used.
    """
    x = tensor(x)
    axes = axes_of(axis, rank(x))
    power = 2.0 if p == "fro" else float(p)
    if power == float("inf"):
        return max(tf.abs(x), axes, keepdim)
    if power == float("-inf"):
        return min(tf.abs(x), axes, keepdim)
    if power == 0:
        return tf.reduce_sum(cast(tf.not_equal(x, 0), x.dtype), axes, keepdims=keepdim)
    if power == 1:
        return tf.reduce_sum(tf.abs(x), axes, keepdims=keepdim)
    powers = tf.square(x) if power == 2 else tf.pow(tf.abs(x), power)
    total = tf.reduce_sum(powers, axes, keepdims=keepdim)
    positive = total > 0
    # The root's gradient at 0 is infinite, and times 0 NaN: the unused branch must not see a 0.
    safe = tf.where(positive, total, tf.ones_like(total))
    root = tf.sqrt(safe) if power == 2 else tf.pow(safe, 1 / power)
    return tf.where(positive, root, total)


def count_nonzero(x: Any, axis: Any = None, keepdim: bool = False, name: str | None = None) -> tf.Tensor:
    """Return how many elements are not 0; int64."""
    return sum(tensor(tensor(x, tf.bool), tf.int64), axis, keepdim=keepdim)


def nansum(x: Any, axis: Any = None, dtype: Any = None, keepdim: bool = False, name: str | None = None) -> tf.Tensor:
    """Return the sum, in which NaN counts as 0."""
    x = tensor(x)
    return sum(tf.where(tf.math.is_nan(x), tf.zeros_like(x), x), axis, dtype, keepdim)


def numel(x: Any, name: str | None = None) -> tf.Tensor:
    """Return the number of elements; a 0-d int64 tensor."""
    return tf.size(tensor(x), out_type=tf.int64)


def median(x: Any, axis: Any = None, keepdim: bool = False, name: str | None = None) -> tf.Tensor:
    """Return the middle element, or the mean of the two in the middle; ints become float32."""
    x = tensor(x)
    x = x if x.dtype.is_floating else tf.cast(x, tf.float32)
    values, along = _along(x, axis)
    last = [i for i in range(rank(values)) if i != along] + [along]
    ordered = tf.sort(tf.transpose(values, last), axis=-1)
    count = tf.shape(ordered)[-1]
    middle = (tf.gather(ordered, (count - 1) // 2, axis=-1) + tf.gather(ordered, count // 2, axis=-1)) / 2
    if not keepdim:
        return middle
    return tf.reshape(middle, [1] * rank(x)) if axis is None else tf.expand_dims(middle, along)


__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "logsumexp",
    "max",
    "mean",
    "median",
    "min",
    "nansum",
    "norm",
    "numel",
    "prod",
    "std",
    "sum",
    "var",
]
