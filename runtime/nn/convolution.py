"""Convolutions as layers."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from runtime.nn.functional.convolution import conv1d, conv2d, wrapped
from runtime.nn.functional.windows import numbers
from runtime.nn.initializer import Normal
from runtime.nn.layer import Layer

_MODES = ("zeros", "reflect", "replicate", "circular")


class _Convolution(Layer):
    """A weight [out, in / groups, ...], a bias, and the function that uses them."""

    dims: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        groups: int,
        padding_mode: str,
        weight_attr: Any,
        bias_attr: Any,
        data_format: str,
    ) -> None:
        super().__init__()
        kind = type(self).__name__
        if padding_mode not in _MODES:
            raise ValueError(f"{kind} got padding_mode={padding_mode!r}: give one of {', '.join(_MODES)}")
        if padding_mode != "zeros" and not isinstance(padding, int):
            raise TypeError(f"{kind} got padding={padding!r} with padding_mode={padding_mode!r}: give one number")
        if weight_attr is False:
            raise ValueError(f"{kind} got weight_attr=False: a convolution needs its weight")
        if in_channels % groups or out_channels % groups:
            raise ValueError(
                f"{kind} got {in_channels} channels for {out_channels} in {groups} groups: both must be divisible by it"
            )
        self._in_channels, self._out_channels, self._groups = in_channels, out_channels, groups
        self._kernel_size = numbers(kernel_size, self.dims, "kernel_size")
        self._stride = numbers(stride, self.dims, "stride")
        self._dilation = numbers(dilation, self.dims, "dilation")
        self._padding, self._padding_mode, self._data_format = padding, padding_mode, data_format
        std = math.sqrt(2.0 / (math.prod(self._kernel_size) * in_channels))
        self.weight = self.create_parameter(
            [out_channels, in_channels // groups, *self._kernel_size], weight_attr, default_initializer=Normal(0.0, std)
        )
        self.bias = self.create_parameter([out_channels], bias_attr, is_bias=True)

    def forward(self, x: Any) -> tf.Tensor:
        """Return the convolution of x, in the same layout."""
        padding = self._padding
        if self._padding_mode != "zeros":
            last = self._data_format[-1] == "C"
            x = wrapped(tf.convert_to_tensor(x), [padding] * self.dims, self._padding_mode, last)
            padding = 0
        function = conv1d if self.dims == 1 else conv2d
        return function(
            x, self.weight, self.bias, self._stride, padding, self._dilation, self._groups, self._data_format
        )


class Conv1D(_Convolution):
    """The convolution of sequences [batch, channel, length] with `weight` [out, in / groups, kernel]."""

    dims = 1

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
    ) -> None:
        """Describe weight and bias.

        Args:
            in_channels: channels of inputs.
            out_channels: channels of outputs.
            kernel_size: how many steps of the input one output sees.
            stride: as in `nn.functional.conv1d`.
            padding: the same.
            dilation: the same.
            groups: the same.
            padding_mode: what is padded: "zeros"; or "reflect", "replicate", "circular", then `padding` is a number.
            weight_attr: how the weight begins and trains; by default a normal distribution with the variance
                2 / (in_channels * kernel_size).
            bias_attr: the same of the bias, by default zeros; False: there is none.
            data_format: NCL, or NLC where the channel is the last dimension.

        Raises:
            ValueError: an argument is out of its range.
            TypeError: the padding is not a number, and the mode is not "zeros".
        """
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            padding_mode,
            weight_attr,
            bias_attr,
            data_format,
        )


class Conv2D(_Convolution):
    """The convolution of images [batch, channel, height, width] with `weight` [out, in / groups, height, width]."""

    dims = 2

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
    ) -> None:
        """Describe weight and bias.

        Args:
            in_channels: channels of inputs.
            out_channels: channels of outputs.
            kernel_size: one number or [height, width].
            stride: as in `nn.functional.conv2d`.
            padding: the same.
            dilation: the same.
            groups: the same.
            padding_mode: what is padded: "zeros"; or "reflect", "replicate", "circular", then `padding` is a number.
            weight_attr: how the weight begins and trains; by default a normal distribution with the variance
                2 / (in_channels * height * width).
            bias_attr: the same of the bias, by default zeros; False: there is none.
            data_format: NCHW, or NHWC where the channel is the last dimension.

        Raises:
            ValueError: an argument is out of its range.
            TypeError: the padding is not a number, and the mode is not "zeros".
        """
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            padding_mode,
            weight_attr,
            bias_attr,
            data_format,
        )


__all__ = ["Conv1D", "Conv2D"]
