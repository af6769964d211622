"""Batch normalization as layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime.nn.functional.normalization import batch_norm
from runtime.nn.initializer import Constant
from runtime.nn.layer import Layer
from runtime.nn.weights.param_attr import ParamAttr

#: What `act` of the older class may be: functions without other arguments.
_ACTIVATIONS: dict[str, Callable[..., tf.Tensor]] = {
    "relu": tf.nn.relu,
    "relu6": tf.nn.relu6,
    "sigmoid": tf.sigmoid,
    "tanh": tf.tanh,
    "exp": tf.exp,
    "abs": tf.abs,
    "square": tf.square,
    "softsign": tf.nn.softsign,
}


class _Normalized(Layer):
    """What the classes of batch normalization share: weights and running values."""

    def _describe(self, channels: int, weight_attr: Any, bias_attr: Any, dtype: Any = None) -> None:
        shape = [channels]
        self.weight = self.create_parameter(shape, weight_attr, dtype, default_initializer=Constant(1.0))
        self.bias = self.create_parameter(shape, bias_attr, dtype, is_bias=True)
        for name, value in (("_mean", 0.0), ("_variance", 1.0)):
            running = self.create_parameter(shape, ParamAttr(initializer=Constant(value), trainable=False), dtype)
            setattr(self, name, running)


class _BatchNorm(_Normalized):
    ranks: tuple[int, ...]
    layouts: tuple[str, ...]

    def __init__(
        self,
        num_features: int,
        momentum: float,
        epsilon: float,
        weight_attr: Any,
        bias_attr: Any,
        data_format: str,
        use_global_stats: bool | None,
        name: str | None,
    ) -> None:
        super().__init__()
        self._describe(num_features, weight_attr, bias_attr)
        self._num_features, self._momentum, self._epsilon = num_features, momentum, epsilon
        self._data_format, self._use_global_stats, self._name = data_format, use_global_stats, name

    def forward(self, input: Any) -> tf.Tensor:
        """Return the input with mean 0 and variance 1 in each channel, times `weight` plus `bias`.

        Raises:
            ValueError: the layout is not one of this class, or the input has another number of dimensions.
        """
        x, kind = tf.convert_to_tensor(input), type(self).__name__
        if self._data_format not in self.layouts:
            raise ValueError(f"{kind} has data_format={self._data_format!r}: give one of {', '.join(self.layouts)}")
        if x.shape.rank not in self.ranks:
            ranks = " or ".join(map(str, self.ranks))
            raise ValueError(f"{kind} got a tensor of shape {x.shape}: give one of {ranks} dimensions")
        return batch_norm(
            x,
            self._mean,
            self._variance,
            self.weight,
            self.bias,
            self.training,
            self._momentum,
            self._epsilon,
            self._data_format,
            self._use_global_stats,
        )


class BatchNorm1D(_BatchNorm):
    """Normalizes [batch, channel] or [batch, channel, length] by the values of the batch."""

    ranks = (2, 3)
    layouts = ("NCL", "NC", "NCHW", "NLC", "NHWC")

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-05,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        """Describe the weights and the running values `_mean` and `_variance`.

        Args:
            num_features: number of channels.
            momentum: how much of the running values stays.
            epsilon: added to the variance.
            weight_attr: how the weight begins and trains, by default ones; False: there is none.
            bias_attr: the same of the bias, by default zeros.
            data_format: NCL, NC or NCHW; NLC or NHWC where the channel is the last dimension.
            use_global_stats: True: running values are used while training, too; False: never.
            name: kept.
        """
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, use_global_stats, name)


class BatchNorm2D(_BatchNorm):
    """Normalizes [batch, channel, height, width] by the values of the batch."""

    ranks = (4,)
    layouts = ("NCHW", "NHWC")

    def __init__(
        self,
        num_features: int,
        momentum: float = 0.9,
        epsilon: float = 1e-05,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCHW",
        use_global_stats: bool | None = None,
        name: str | None = None,
    ) -> None:
        """Describe the weights and the running values, as `BatchNorm1D`; the layout is NCHW or NHWC."""
        super().__init__(num_features, momentum, epsilon, weight_attr, bias_attr, data_format, use_global_stats, name)


class BatchNorm(_Normalized):
    """The older class of batch normalization, for inputs of any rank from 2."""

    def __init__(
        self,
        num_channels: int,
        act: str | None = None,
        is_test: bool = False,
        momentum: float = 0.9,
        epsilon: float = 1e-05,
        param_attr: Any = None,
        bias_attr: Any = None,
        dtype: Any = "float32",
        data_layout: str = "NCHW",
        in_place: bool = False,
        moving_mean_name: str | None = None,
        moving_variance_name: str | None = None,
        do_model_average_for_mean_and_var: bool = True,
        use_global_stats: bool = False,
        trainable_statistics: bool = False,
    ) -> None:
        """Describe the weights and the running values `_mean` and `_variance`.

        Args:
            num_channels: number of channels.
            act: name of a function of the result, such as `relu`.
            is_test: has no effect: `eval` is what counts.
            momentum: how much of the running values stays.
            epsilon: added to the variance.
            param_attr: how the weight begins and trains, by default ones; False: there is none.
            bias_attr: the same of the bias, by default zeros.
            dtype: of all of them.
            data_layout: NCHW; NHWC where the channel is the last dimension.
            in_place: has no effect.
            moving_mean_name: has no effect.
            moving_variance_name: has no effect.
            do_model_average_for_mean_and_var: has no effect.
            use_global_stats: whether running values are used while training, too.
            trainable_statistics: whether the batch's values are used in evaluation, too.

        Raises:
            ValueError: the function or the layout is not known.
        """
        super().__init__()
        if act is not None and act not in _ACTIVATIONS:
            raise ValueError(f"BatchNorm got act={act!r}: give one of {', '.join(_ACTIVATIONS)}, or call it afterwards")
        if data_layout not in ("NCHW", "NHWC"):
            raise ValueError(f"BatchNorm got data_layout={data_layout!r}: give NCHW or NHWC")
        self._describe(num_channels, param_attr, bias_attr, "float32" if dtype == "float16" else dtype)
        self._act, self._momentum, self._epsilon, self._data_layout = act, momentum, epsilon, data_layout
        self._use_global_stats, self._trainable_statistics = use_global_stats, trainable_statistics

    def forward(self, input: Any) -> tf.Tensor:
        """Return the input with mean 0 and variance 1 in each channel, times `weight` plus `bias`, and `act` of it."""
        running = self._use_global_stats or not (self.training or self._trainable_statistics)
        out = batch_norm(
            input,
            self._mean,
            self._variance,
            self.weight,
            self.bias,
            self.training,
            self._momentum,
            self._epsilon,
            self._data_layout,
            running,
        )
        return out if self._act is None else _ACTIVATIONS[self._act](out)
