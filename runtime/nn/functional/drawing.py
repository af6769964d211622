"""Tensors drawn by chance. All numbers come from `Drawer`, which a verifier replaces to have equal ones."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.nn.functional.tensors import as_shape, dtype_of, rank, size_list, sizes, tensor, with_static


class Drawer:
    """Where random numbers come from; `draw_with` puts another in its place."""

    def uniform(self, shape: Any, dtype: tf.DType, low: Any, high: Any) -> tf.Tensor:
        """Return floats in [low, high)."""
        return low + (high - low) * tf.random.uniform(shape, dtype=dtype)

    def normal(self, shape: Any, dtype: tf.DType) -> tf.Tensor:
        """Return floats of mean 0 and deviation 1."""
        return tf.random.normal(shape, dtype=dtype)

    def integers(self, shape: Any, dtype: tf.DType, low: Any, high: Any) -> tf.Tensor:
        """Return ints in [low, high)."""
        return tf.cast(tf.random.uniform(shape, low, high, tf.int64), dtype)

    def permutation(self, count: Any, dtype: tf.DType) -> tf.Tensor:
        """Return the ints below `count` in random order."""
        return tf.random.shuffle(tf.range(count, dtype=dtype))

    def choices(self, weights: tf.Tensor, count: int, replacement: bool) -> tf.Tensor:
        """Return for each row of weights [b, n] `count` indices, drawn in proportion to them; int64 [b, count]."""
        logs = tf.math.log(weights)
        if replacement:
            return tf.random.categorical(logs, count, dtype=tf.int64)
        gumbel = -tf.math.log(-tf.math.log(tf.random.uniform(tf.shape(logs), 1e-20, 1.0, logs.dtype)))
        return tf.cast(tf.math.top_k(logs + gumbel, count).indices, tf.int64)


_drawers = [Drawer()]


def draw_with(drawer: Drawer) -> None:
    """Let all following draws come from `drawer`."""
    _drawers[0] = drawer


def uniform(
    shape: Any, dtype: Any = None, min: Any = -1.0, max: Any = 1.0, seed: int = 0, name: str | None = None
) -> tf.Tensor:
    """Return floats in [min, max)."""
    wanted = size_list(shape)
    return with_static(_drawers[0].uniform(as_shape(wanted), dtype_of(dtype, tf.float32), min, max), wanted)


def rand(shape: Any, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """Return floats in [0, 1)."""
    return uniform(shape, dtype, 0.0, 1.0)


def randn(shape: Any, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """Return floats of mean 0 and deviation 1."""
    wanted = size_list(shape)
    return with_static(_drawers[0].normal(as_shape(wanted), dtype_of(dtype, tf.float32)), wanted)


standard_normal = randn


def normal(mean: Any = 0.0, std: Any = 1.0, shape: Any = None, name: str | None = None) -> tf.Tensor:
    """Return floats of a mean and deviation, which may be tensors of the result's shape."""
    for parameter in (mean, std):
        if not isinstance(parameter, (int, float)):
            return tensor(mean) + tensor(std) * randn(sizes(tensor(parameter)), tensor(parameter).dtype)
    return mean + std * randn([1] if shape is None else shape)


def randint(
    low: Any = 0,
    high: Any = None,
    shape: Any = (1,),
    dtype: Any = None,
    name: str | None = None,
) -> tf.Tensor:
    """Return ints in [low, high), or [0, low) without `high`; int64 by default."""
    low, high = (0, low) if high is None else (low, high)
    wanted = size_list(shape)
    return with_static(_drawers[0].integers(as_shape(wanted), dtype_of(dtype, tf.int64), low, high), wanted)


def randint_like(x: Any, low: Any = 0, high: Any = None, dtype: Any = None, name: str | None = None) -> tf.Tensor:
    """Return ints in [low, high) with the shape, and without `dtype` also the dtype, of x."""
    x = tensor(x)
    return tf.cast(randint(low, high, sizes(x)), dtype_of(dtype, x.dtype))


def randperm(n: Any, dtype: Any = "int64", name: str | None = None) -> tf.Tensor:
    """Return the ints below n in random order."""
    return with_static(_drawers[0].permutation(n, dtype_of(dtype)), size_list(n))


def multinomial(x: Any, num_samples: int = 1, replacement: bool = False, name: str | None = None) -> tf.Tensor:
    """Return indices drawn in proportion to the weights.

    Args:
        x: weights [n] or [b, n], which need not sum to 1.
        num_samples: how many indices for each row.
        replacement: an index may be drawn again.
        name: not used.

    Returns:
        int64 [num_samples] or [b, num_samples].
    """
    weights = tensor(x)
    if rank(weights) == 1:
        return multinomial(weights[None], num_samples, replacement)[0]
    return with_static(_drawers[0].choices(weights, num_samples, replacement), [weights.shape[0], num_samples])


def bernoulli(x: Any, name: str | None = None) -> tf.Tensor:
    """Return 1 with the probability in x, else 0, with the dtype of x."""
    x = tensor(x)
    return tf.cast(rand(sizes(x), x.dtype) < x, x.dtype)


__all__ = [
    "Drawer",
    "bernoulli",
    "draw_with",
    "multinomial",
    "normal",
    "rand",
    "randint",
    "randint_like",
    "randn",
    "randperm",
    "standard_normal",
    "uniform",
]
