"""Normalizations of each example by itself, as layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime.nn.functional.normalization import layer_norm
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
