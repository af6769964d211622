"""Layers that are one function of their input, without weights but for `PReLU`: activations and `Flatten`."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime.nn import functional
from runtime.nn.initializer import Constant
from runtime.nn.layer import Layer


class _Function(Layer):
    """A function of `nn.functional`, with arguments that it keeps."""

    function: str

    def __init__(self, **arguments: Any) -> None:
        super().__init__()
        self._arguments = arguments

    def forward(self, x: Any) -> tf.Tensor:
        """Return the function of x."""
        found: tf.Tensor = getattr(functional, self.function)(x, **self._arguments)
        return found


class _Plain(_Function):
    def __init__(self, name: str | None = None) -> None:
        """Start the layer; the name is kept."""
        super().__init__()
        self._name = self.name = name


class ReLU(_Plain):
    """max(x, 0)."""

    function = "relu"


class ReLU6(_Plain):
    """x between 0 and 6, else the nearer bound."""

    function = "relu6"


class Sigmoid(_Plain):
    """1 / (1 + exp(-x))."""

    function = "sigmoid"


class LogSigmoid(_Plain):
    """log(sigmoid(x))."""

    function = "log_sigmoid"


class Tanh(_Plain):
    """tanh(x)."""

    function = "tanh"


class Tanhshrink(_Plain):
    """x - tanh(x)."""

    function = "tanhshrink"


class Hardsigmoid(_Plain):
    """x / 6 + 1 / 2 between 0 and 1, else the nearer bound."""

    function = "hardsigmoid"


class Hardswish(_Plain):
    """x * hardsigmoid(x)."""

    function = "hardswish"


class Silu(_Plain):
    """x * sigmoid(x)."""

    function = "silu"


class Swish(_Plain):
    """x * sigmoid(x)."""

    function = "swish"


class Mish(_Plain):
    """x * tanh(softplus(x))."""

    function = "mish"


class Softsign(_Plain):
    """x / (1 + abs(x))."""

    function = "softsign"


class ELU(_Function):
    """x above 0, else alpha * (exp(x) - 1)."""

    function = "elu"

    def __init__(self, alpha: float = 1.0, name: str | None = None) -> None:
        """Keep the arguments."""
        super().__init__(alpha=alpha)
        self._name = name


class CELU(_Function):
    """x above 0, else alpha * (exp(x / alpha) - 1)."""

    function = "celu"

    def __init__(self, alpha: float = 1.0, name: str | None = None) -> None:
        """Keep the arguments."""
        super().__init__(alpha=alpha)
        self._name = name


class GELU(_Function):
    """x times the normal distribution function of x, or its approximation by tanh."""

    function = "gelu"

    def __init__(self, approximate: bool = False, name: str | None = None) -> None:
        """Keep the arguments."""
        super().__init__(approximate=approximate)
        self._name = name


class SELU(_Function):
    """scale * elu(x, alpha)."""

    function = "selu"

    def __init__(
        self,
        scale: float = 1.0507009873554804934193349852946,
        alpha: float = 1.6732632423543772848170429916717,
        name: str | None = None,
    ) -> None:
        """Keep the arguments."""
        super().__init__(scale=scale, alpha=alpha)
        self._name = name


class LeakyReLU(_Function):
    """x above 0, else negative_slope * x."""

    function = "leaky_relu"

    def __init__(self, negative_slope: float = 0.01, name: str | None = None) -> None:
        """Keep the arguments."""
        super().__init__(negative_slope=negative_slope)
        self._name = name


class Softplus(_Function):
    """log(1 + exp(beta * x)) / beta, or x where beta * x is above the threshold."""

    function = "softplus"

    def __init__(self, beta: float = 1, threshold: float = 20, name: str | None = None) -> None:
        """Keep the arguments."""
        super().__init__(beta=beta, threshold=threshold)
        self._name = name


class Softshrink(_Function):
    """x moved towards 0 by the threshold."""

    function = "softshrink"

    def __init__(self, threshold: float = 0.5, name: str | None = None) -> None:
        """Keep the arguments."""
        super().__init__(threshold=threshold)
        self._name = name


class Hardshrink(_Function):
    """x, or 0 where abs(x) is at most the threshold."""

    function = "hardshrink"

    def __init__(self, threshold: float = 0.5, name: str | None = None) -> None:
        """Keep the arguments."""
        super().__init__(threshold=threshold)
        self._name = name


class Hardtanh(_Function):
    """x between two bounds, else the nearer one."""

    function = "hardtanh"

    def __init__(self, min: float = -1.0, max: float = 1.0, name: str | None = None) -> None:
        """Keep the arguments."""
        super().__init__(min=min, max=max)
        self._name = name


class ThresholdedReLU(_Function):
    """x above the threshold, else 0."""

    function = "thresholded_relu"

    def __init__(self, threshold: float = 1.0, name: str | None = None) -> None:
        """Keep the arguments."""
        super().__init__(threshold=threshold)
        self._name = name


class Softmax(_Function):
    """exp(x), divided by its sum along a dimension."""

    function = "softmax"

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        """Keep the arguments."""
        super().__init__(axis=axis)
        self._name = name


class LogSoftmax(_Function):
    """log(softmax(x))."""

    function = "log_softmax"

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        """Keep the arguments."""
        super().__init__(axis=axis)
        self._name = name


class GLU(_Function):
    """The first half along a dimension, times the sigmoid of the second."""

    function = "glu"

    def __init__(self, axis: int = -1, name: str | None = None) -> None:
        """Keep the arguments."""
        super().__init__(axis=axis)
        self._name = name


class Flatten(_Function):
    """The dimensions from one to another as a single one."""

    function = "flatten"

    def __init__(self, start_axis: int = 1, stop_axis: int = -1) -> None:
        """Keep the first and the last of them."""
        super().__init__(start_axis=start_axis, stop_axis=stop_axis)


class PReLU(Layer):
    """x above 0, else weight * x."""

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        weight_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        """Describe the weight.

        Args:
            num_parameters: 1, or the number of channels.
            init: what the weight begins with.
            weight_attr: how it trains.
            data_format: where the channels are.
            name: kept.
        """
        super().__init__()
        self._data_format, self._name = data_format, name
        self._weight = self.create_parameter([num_parameters], weight_attr, default_initializer=Constant(init))

    def forward(self, x: Any) -> tf.Tensor:
        """Return the function of x."""
        found: tf.Tensor = functional.prelu(x, self._weight, data_format=self._data_format)
        return found
