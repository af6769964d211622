"""Initializers with Paddle's names, arguments and distributions.

Each is a TensorFlow v1 initializer. `stock(shape)` is the one of TensorFlow that draws the same, which tables take.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


class Initializer:
    """Base class: an object that gives the values of a weight when its variable is initialized."""

    def stock(self, shape: Sequence[int]) -> Any:
        """Return TensorFlow's initializer with the same distribution for a weight of this shape."""
        raise NotImplementedError(f"{type(self).__name__} defines no stock")

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> tf.Tensor:
        """Return the values, a tensor of this shape."""
        sizes = tf.TensorShape(shape).as_list()
        return self.stock(sizes)(sizes, dtype=tf.as_dtype(dtype or tf.float32), partition_info=partition_info)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


class Constant(Initializer):
    """Equal values."""

    def __init__(self, value: float = 0.0) -> None:
        """Keep the value."""
        self.value = value

    def stock(self, shape: Sequence[int]) -> Any:
        """Return a constant initializer."""
        return v1.constant_initializer(self.value)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> tf.Tensor:
        """Return the values, a tensor of this shape; of integers and booleans as C casts the value, as Paddle does."""
        kind = tf.as_dtype(dtype or tf.float32)
        value = bool(self.value) if kind.is_bool else int(self.value) if kind.is_integer else self.value
        return v1.constant_initializer(value)(tf.TensorShape(shape).as_list(), dtype=kind)


class Normal(Initializer):
    """A normal distribution."""

    def __init__(self, mean: float = 0.0, std: float = 1.0, name: str | None = None) -> None:
        """Keep mean and standard deviation; the name has no effect."""
        self.mean, self.std = mean, std

    def stock(self, shape: Sequence[int]) -> Any:
        """Return a normal initializer."""
        return v1.random_normal_initializer(self.mean, self.std)


class TruncatedNormal(Normal):
    """A normal distribution, cut two standard deviations from the mean."""

    def stock(self, shape: Sequence[int]) -> Any:
        """Return a truncated normal initializer."""
        return v1.truncated_normal_initializer(self.mean, self.std)


class Uniform(Initializer):
    """A uniform distribution."""

    def __init__(self, low: float = -1.0, high: float = 1.0, name: str | None = None) -> None:
        """Keep the limits; the name has no effect.

        Raises:
            ValueError: the upper limit is below the lower one.
        """
        if high < low:
            raise ValueError(f"Uniform got the limits low={low} and high={high}: exchange them")
        self.low, self.high = low, high

    def stock(self, shape: Sequence[int]) -> Any:
        """Return a uniform initializer."""
        return v1.random_uniform_initializer(self.low, self.high)


def fans(shape: Sequence[int]) -> tuple[int, int]:
    """Return (fan in, fan out) of a weight in Paddle's layout: [in, out], or [out, in, …] of a convolution."""
    if not shape:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    if len(shape) == 2:
        return shape[0], shape[1]
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


class XavierUniform(Initializer):
    """A uniform distribution with the variance 2 / (fan in + fan out)."""

    def __init__(self, fan_in: float | None = None, fan_out: float | None = None, name: str | None = None) -> None:
        """Keep the fans, None for those of the weight; the name has no effect."""
        self.fan_in, self.fan_out = fan_in, fan_out

    def deviation(self, shape: Sequence[int]) -> float:
        """Return the standard deviation for a weight of this shape."""
        fan_in, fan_out = fans(shape)
        fan_in = fan_in if self.fan_in is None else self.fan_in  # type: ignore[assignment]
        fan_out = fan_out if self.fan_out is None else self.fan_out  # type: ignore[assignment]
        return math.sqrt(2.0 / float(fan_in + fan_out))

    def stock(self, shape: Sequence[int]) -> Any:
        """Return a uniform initializer."""
        return _uniform(self.deviation(shape))


class XavierNormal(XavierUniform):
    """A normal distribution with the variance 2 / (fan in + fan out)."""

    def stock(self, shape: Sequence[int]) -> Any:
        """Return a normal initializer."""
        return v1.random_normal_initializer(0.0, self.deviation(shape))


class KaimingUniform(Initializer):
    """A uniform distribution with the standard deviation gain / sqrt(fan in)."""

    def __init__(self, fan_in: float | None = None, negative_slope: float = 0.0, nonlinearity: str = "relu") -> None:
        """Keep the arguments.

        Args:
            fan_in: None for that of the weight.
            negative_slope: of `leaky_relu`.
            nonlinearity: a name that `calculate_gain` knows.
        """
        self.fan_in, self.negative_slope, self.nonlinearity = fan_in, negative_slope, nonlinearity

    def deviation(self, shape: Sequence[int]) -> float:
        """Return the standard deviation for a weight of this shape."""
        fan_in = fans(shape)[0] if self.fan_in is None else self.fan_in
        return calculate_gain(self.nonlinearity, self.negative_slope) / math.sqrt(float(fan_in))

    def stock(self, shape: Sequence[int]) -> Any:
        """Return a uniform initializer."""
        return _uniform(self.deviation(shape))


class KaimingNormal(KaimingUniform):
    """A normal distribution with the standard deviation gain / sqrt(fan in)."""

    def stock(self, shape: Sequence[int]) -> Any:
        """Return a normal initializer."""
        return v1.random_normal_initializer(0.0, self.deviation(shape))


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor by which weights before a non-linear function are larger.

    Args:
        nonlinearity: name of the function.
        param: the slope of `leaky_relu` below zero, by default 0.01.

    Raises:
        ValueError: no such function is known.
    """
    linear = dict.fromkeys(["sigmoid", "linear", *(f"conv{n}d{end}" for n in "123" for end in ("", "_transpose"))], 1.0)
    slope = 0.01 if param is None else float(param)
    leaky = math.sqrt(2.0 / (1 + slope**2))
    gains = {**linear, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "leaky_relu": leaky, "selu": 0.75}
    if nonlinearity not in gains:
        raise ValueError(f"the function {nonlinearity!r} has no known gain: use one of {', '.join(gains)}")
    return gains[nonlinearity]


class Assign(Initializer):
    """Given values."""

    def __init__(self, value: Any, name: str | None = None) -> None:
        """Keep the values: an array, nested lists, or a tensor, perhaps a random one; the name has no effect."""
        known = tf.get_static_value(value) if isinstance(value, tf.Tensor) else np.asarray(value)
        #: An array, or a tensor whose values are known when the graph runs.
        self.value: Any = value if known is None else known

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The sizes, None where they are not known."""
        return tuple(tf.TensorShape(self.value.shape).as_list())

    def stock(self, shape: Sequence[int]) -> Any:
        """Return a constant initializer, or a function that returns the tensor.

        Raises:
            ValueError: the weight has another shape.
        """
        if self.shape != tuple(shape):
            raise ValueError(
                f"Assign got values of shape {list(self.shape)} for a weight of shape {list(shape)}: make them equal"
            )
        return v1.constant_initializer(self.value) if isinstance(self.value, np.ndarray) else self._tensor

    def _tensor(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> tf.Tensor:
        return tf.cast(self.value, dtype or self.value.dtype)

    def __repr__(self) -> str:
        return f"Assign(<values of shape {list(self.shape)}>)"


def _uniform(deviation: float) -> Any:
    limit = math.sqrt(3.0) * deviation
    return v1.random_uniform_initializer(-limit, limit)
