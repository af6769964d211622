"""Layers that are one function of `nn.functional` with arguments that they keep: activations, poolings, losses."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from runtime.nn import functional
from runtime.nn.initializer import Constant
from runtime.nn.layer import Layer

_REDUCTIONS = ("sum", "mean", "none")


class Function(Layer):
    """A function as a layer. Arguments of the constructor, which are attributes, are those of the function."""

    function: str
    constructor: inspect.Signature

    def __init__(self, *values: Any, **named: Any) -> None:
        """Keep the arguments; the name has no effect.

        Raises:
            TypeError: the layer has no such argument.
            ValueError: a loss has no such reduction.
        """
        super().__init__()
        bound = self.constructor.bind(*values, **named)
        bound.apply_defaults()
        self._arguments = dict(bound.arguments)
        self.name = self._name = self._arguments.pop("name", None)
        kinds = (*_REDUCTIONS, *(("batchmean",) if self.function == "kl_div" else ()))
        if (reduction := self._arguments.get("reduction", "mean")) not in kinds:
            raise ValueError(f"{type(self).__name__} got reduction={reduction!r}: give one of {', '.join(kinds)}")
        for key, value in self._arguments.items():
            setattr(self, key, value)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Return the function of the inputs; Paddle calls some of them otherwise than the function does."""
        function = getattr(functional, self.function)
        parameters = inspect.signature(function).parameters if named else {}
        others = [value for key, value in named.items() if key not in parameters]
        known = {key: value for key, value in named.items() if key in parameters}
        return function(*inputs, *others, **known, **{key: getattr(self, key) for key in self._arguments})


def _layer(kind: str, function: str, arguments: str = "name") -> type[Function]:
    """Return the class of a function: names of arguments, with the function's defaults where no other is given."""
    defaults = inspect.signature(getattr(functional, function)).parameters
    parameters = []
    for part in arguments.split():
        name, _, default = part.partition("=")
        value = ast.literal_eval(default) if default else defaults[name].default
        parameters.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=value))
    constructor = inspect.Signature(parameters)
    about = f"`nn.functional.{function}` as a layer."
    named = {"function": function, "constructor": constructor, "__signature__": constructor}
    return type(kind, (Function,), {**named, "__doc__": about, "__module__": __name__})


ReLU = _layer("ReLU", "relu")
ReLU6 = _layer("ReLU6", "relu6")
Sigmoid = _layer("Sigmoid", "sigmoid")
LogSigmoid = _layer("LogSigmoid", "log_sigmoid")
Tanh = _layer("Tanh", "tanh")
Silu = _layer("Silu", "silu")
Swish = _layer("Swish", "swish")
Softsign = _layer("Softsign", "softsign")
ELU = _layer("ELU", "elu", "alpha name")
GELU = _layer("GELU", "gelu", "approximate name")
SELU = _layer("SELU", "selu", "scale alpha name")
LeakyReLU = _layer("LeakyReLU", "leaky_relu", "negative_slope name")
Softplus = _layer("Softplus", "softplus", "beta threshold name")
Softmax = _layer("Softmax", "softmax", "axis name")
LogSoftmax = _layer("LogSoftmax", "log_softmax", "axis name")
Tanhshrink = _layer("Tanhshrink", "tanhshrink")
Hardsigmoid = _layer("Hardsigmoid", "hardsigmoid")
Hardswish = _layer("Hardswish", "hardswish")
Mish = _layer("Mish", "mish")
CELU = _layer("CELU", "celu", "alpha name")
Hardtanh = _layer("Hardtanh", "hardtanh", "min max name")
Hardshrink = _layer("Hardshrink", "hardshrink", "threshold name")
Softshrink = _layer("Softshrink", "softshrink", "threshold name")
ThresholdedReLU = _layer("ThresholdedReLU", "thresholded_relu", "threshold name")
GLU = _layer("GLU", "glu", "axis name")
Flatten = _layer("Flatten", "flatten", "start_axis=1 stop_axis")
CosineSimilarity = _layer("CosineSimilarity", "cosine_similarity", "axis eps")

MaxPool1D = _layer("MaxPool1D", "max_pool1d", "kernel_size stride padding return_mask ceil_mode name")
MaxPool2D = _layer("MaxPool2D", "max_pool2d", "kernel_size stride padding return_mask ceil_mode data_format name")
AvgPool1D = _layer("AvgPool1D", "avg_pool1d", "kernel_size stride padding exclusive ceil_mode name")
AvgPool2D = _layer(
    "AvgPool2D", "avg_pool2d", "kernel_size stride padding ceil_mode exclusive divisor_override data_format name"
)
AdaptiveMaxPool1D = _layer("AdaptiveMaxPool1D", "adaptive_max_pool1d", "output_size return_mask name")
AdaptiveMaxPool2D = _layer("AdaptiveMaxPool2D", "adaptive_max_pool2d", "output_size return_mask name")
AdaptiveAvgPool1D = _layer("AdaptiveAvgPool1D", "adaptive_avg_pool1d", "output_size name")
AdaptiveAvgPool2D = _layer("AdaptiveAvgPool2D", "adaptive_avg_pool2d", "output_size data_format name")

BCELoss = _layer("BCELoss", "binary_cross_entropy", "weight reduction name")
BCEWithLogitsLoss = _layer("BCEWithLogitsLoss", "binary_cross_entropy_with_logits", "weight reduction pos_weight name")
CrossEntropyLoss = _layer(
    "CrossEntropyLoss",
    "cross_entropy",
    "weight ignore_index reduction soft_label axis use_softmax label_smoothing name",
)
MSELoss = _layer("MSELoss", "mse_loss", "reduction")
L1Loss = _layer("L1Loss", "l1_loss", "reduction name")
SmoothL1Loss = _layer("SmoothL1Loss", "smooth_l1_loss", "reduction delta name")
NLLLoss = _layer("NLLLoss", "nll_loss", "weight ignore_index reduction name")
KLDivLoss = _layer("KLDivLoss", "kl_div", "reduction")
MarginRankingLoss = _layer("MarginRankingLoss", "margin_ranking_loss", "margin reduction name")


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

    def forward(self, x: Any) -> Any:
        """Return the function of x."""
        return functional.prelu(x, self._weight, data_format=self._data_format)
