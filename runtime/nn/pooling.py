"""Poolings as layers: functions of `nn.functional` with arguments that they keep."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.nn.functional import pooling
from runtime.nn.layer import Layer


class _Pooling(Layer):
    def __init__(self, **arguments: Any) -> None:
        super().__init__()
        self._arguments = arguments


class MaxPool1D(_Pooling):
    """The largest element of each window of sequences [batch, channel, length]."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        name: str | None = None,
    ) -> None:
        """Keep the arguments of `nn.functional.max_pool1d`."""
        super().__init__(
            kernel_size=kernel_size, stride=stride, padding=padding, return_mask=return_mask, ceil_mode=ceil_mode
        )

    def forward(self, input: Any) -> Any:
        """Return the largest elements, and their positions where they were asked for."""
        return pooling.max_pool1d(input, **self._arguments)


class MaxPool2D(_Pooling):
    """The largest element of each window of images [batch, channel, height, width]."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        return_mask: bool = False,
        ceil_mode: bool = False,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        """Keep the arguments of `nn.functional.max_pool2d`."""
        super().__init__(
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            return_mask=return_mask,
            ceil_mode=ceil_mode,
            data_format=data_format,
        )

    def forward(self, x: Any) -> Any:
        """Return the largest elements, and their positions where they were asked for."""
        return pooling.max_pool2d(x, **self._arguments)


class AvgPool1D(_Pooling):
    """The mean of each window of sequences [batch, channel, length]."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        exclusive: bool = True,
        ceil_mode: bool = False,
        name: str | None = None,
    ) -> None:
        """Keep the arguments of `nn.functional.avg_pool1d`."""
        super().__init__(
            kernel_size=kernel_size, stride=stride, padding=padding, exclusive=exclusive, ceil_mode=ceil_mode
        )

    def forward(self, x: Any) -> tf.Tensor:
        """Return the means."""
        return pooling.avg_pool1d(x, **self._arguments)


class AvgPool2D(_Pooling):
    """The mean of each window of images [batch, channel, height, width]."""

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        exclusive: bool = True,
        divisor_override: float | None = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        """Keep the arguments of `nn.functional.avg_pool2d`."""
        super().__init__(
            kernel_size=kernel_size,
            stride=stride,
            padding=padding,
            ceil_mode=ceil_mode,
            exclusive=exclusive,
            divisor_override=divisor_override,
            data_format=data_format,
        )

    def forward(self, x: Any) -> tf.Tensor:
        """Return the means."""
        return pooling.avg_pool2d(x, **self._arguments)


class AdaptiveMaxPool1D(_Pooling):
    """The largest element of each of some parts of sequences [batch, channel, length]."""

    def __init__(self, output_size: Any, return_mask: bool = False, name: str | None = None) -> None:
        """Keep the arguments of `nn.functional.adaptive_max_pool1d`."""
        super().__init__(output_size=output_size, return_mask=return_mask)

    def forward(self, input: Any) -> Any:
        """Return the largest elements, and their positions where they were asked for."""
        return pooling.adaptive_max_pool1d(input, **self._arguments)


class AdaptiveMaxPool2D(_Pooling):
    """The largest element of each of some parts of images [batch, channel, height, width]."""

    def __init__(self, output_size: Any, return_mask: bool = False, name: str | None = None) -> None:
        """Keep the arguments of `nn.functional.adaptive_max_pool2d`."""
        super().__init__(output_size=output_size, return_mask=return_mask)

    def forward(self, x: Any) -> Any:
        """Return the largest elements, and their positions where they were asked for."""
        return pooling.adaptive_max_pool2d(x, **self._arguments)


class AdaptiveAvgPool1D(_Pooling):
    """The mean of each of some parts of sequences [batch, channel, length]."""

    def __init__(self, output_size: Any, name: str | None = None) -> None:
        """Keep the arguments of `nn.functional.adaptive_avg_pool1d`."""
        super().__init__(output_size=output_size)

    def forward(self, input: Any) -> tf.Tensor:
        """Return the means."""
        return pooling.adaptive_avg_pool1d(input, **self._arguments)


class AdaptiveAvgPool2D(_Pooling):
    """The mean of each of some parts of images [batch, channel, height, width]."""

    def __init__(self, output_size: Any, data_format: str = "NCHW", name: str | None = None) -> None:
        """Keep the arguments of `nn.functional.adaptive_avg_pool2d`."""
        super().__init__(output_size=output_size, data_format=data_format)

    def forward(self, x: Any) -> tf.Tensor:
        """Return the means."""
        return pooling.adaptive_avg_pool2d(x, **self._arguments)
