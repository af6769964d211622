"""Normalizations of each example by itself, as layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime.nn.functional.normalization import instance_norm, layer_norm
from runtime.nn.initializer import Constant
from runtime.nn.layer import Layer


class LayerNorm(Layer):
    """Normalizes the last dimensions of each example; `weight` and `bias` have one dimension."""

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        epsilon: float = 1e-05,
        weight_attr: Any = None,
        bias_attr: Any = None,
        name: str | None = None,
    ) -> None:
        """Describe the weights.

        Args:
            normalized_shape: the last sizes of inputs, one or several.
            epsilon: added to the variance.
            weight_attr: how the weight begins and trains, by default ones; False: there is none.
            bias_attr: the same of the bias, by default zeros.
            name: has no effect.
        """
        super().__init__()
        sizes = list(normalized_shape) if isinstance(normalized_shape, Sequence) else [normalized_shape]
        self._normalized_shape, self._epsilon = [int(one) for one in sizes], epsilon
        shape = [math.prod(self._normalized_shape)]
        self.weight = self.create_parameter(shape, weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter(shape, bias_attr, is_bias=True)

    def forward(self, input: Any) -> tf.Tensor:
        """Return the input with mean 0 and variance 1 over its last dimensions, times `weight` plus `bias`."""
        return layer_norm(input, self._normalized_shape, self.weight, self.bias, self._epsilon)


class _InstanceNorm(Layer):
    ranks: tuple[int, ...]

    def __init__(
        self,
        num_features: int,
        epsilon: float = 1e-05,
        momentum: float = 0.9,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        """Describe `scale` and `bias`.

        Args:
            num_features: number of channels.
            epsilon: added to the variance.
            momentum: has no effect.
            weight_attr: how the scale begins and trains, by default ones; False, with `bias_attr`: there are none.
            bias_attr: the same of the bias, by default zeros.
            data_format: has no effect, as in Paddle: the channel is the second dimension.
            name: has no effect.

        Raises:
            ValueError: one of scale and bias is left out, and not the other.
        """
        super().__init__()
        if (weight_attr is False) != (bias_attr is False):
            raise ValueError(f"{type(self).__name__} has one of scale and bias alone: give both, or neither")
        self._epsilon, shape = epsilon, [num_features]
        self.scale = self.create_parameter(shape, weight_attr, default_initializer=Constant(1.0))
        self.bias = self.create_parameter(shape, bias_attr, is_bias=True)

    def forward(self, input: Any) -> tf.Tensor:
        """Return the input with mean 0 and variance 1 in each channel of each example.

        Raises:
            ValueError: the input has another number of dimensions.
        """
        x = tf.convert_to_tensor(input)
        if x.shape.rank not in self.ranks:
            ranks = " or ".join(map(str, self.ranks))
            raise ValueError(f"{type(self).__name__} got a tensor of shape {x.shape}: give one of {ranks} dimensions")
        return instance_norm(x, weight=self.scale, bias=self.bias, eps=self._epsilon)


class InstanceNorm1D(_InstanceNorm):
    """Normalizes each channel of each example of [batch, channel, length]."""

    ranks = (2, 3)

    def __init__(
        self,
        num_features: int,
        epsilon: float = 1e-05,
        momentum: float = 0.9,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
        name: str | None = None,
    ) -> None:
        """Describe `scale` and `bias`; arguments as of `InstanceNorm2D`."""
        super().__init__(num_features, epsilon, momentum, weight_attr, bias_attr, data_format, name)


class InstanceNorm2D(_InstanceNorm):
    """Normalizes each channel of each example of [batch, channel, height, width]."""

    ranks = (4,)
