"""Activations as layers: they compute what the function does."""

from __future__ import annotations

from collections.abc import Mapping

from migrate.source.paddle.abstract.values import Layer, Refuse, Tensor, Value, Weight
from migrate.source.paddle.layers.spec import Caller, LayerSpec, computes_on_one, one_float
from migrate.source.paddle.ops import registry

#: Constructor -> function of `paddle.nn.functional`.
_FUNCTIONS = {
    "ReLU(name=None)": "relu",
    "ReLU6(name=None)": "relu6",
    "Sigmoid(name=None)": "sigmoid",
    "LogSigmoid(name=None)": "log_sigmoid",
    "Tanh(name=None)": "tanh",
    "Tanhshrink(name=None)": "tanhshrink",
    "Hardsigmoid(name=None)": "hardsigmoid",
    "Hardswish(name=None)": "hardswish",
    "Silu(name=None)": "silu",
    "Swish(name=None)": "swish",
    "Mish(name=None)": "mish",
    "Softsign(name=None)": "softsign",
    "ELU(alpha=1.0, name=None)": "elu",
    "CELU(alpha=1.0, name=None)": "celu",
    "GELU(approximate=False, name=None)": "gelu",
    "SELU(scale=1.0507009873554804934193349852946, alpha=1.6732632423543772848170429916717, name=None)": "selu",
    "LeakyReLU(negative_slope=0.01, name=None)": "leaky_relu",
    "Softplus(beta=1, threshold=20, name=None)": "softplus",
    "Hardtanh(min=-1.0, max=1.0, name=None)": "hardtanh",
    "Hardshrink(threshold=0.5, name=None)": "hardshrink",
    "Softshrink(threshold=0.5, name=None)": "softshrink",
    "ThresholdedReLU(threshold=1.0, name=None)": "thresholded_relu",
    "Softmax(axis=-1, name=None)": "softmax",
    "LogSoftmax(axis=-1, name=None)": "log_softmax",
    "GLU(axis=-1, name=None)": "glu",
}


def _prelu(layer: Layer, positional: list[Value], keywords: Mapping[str, Value], caller: Caller) -> Value:
    x, count = one_float(layer, positional, keywords), layer.arguments["num_parameters"]
    if count != 1 and x.shape is not None:
        channel = 1 if layer.arguments["data_format"][1] == "C" else len(x.shape) - 1
        if len(x.shape) < 2 or x.shape[channel] not in (None, count):
            raise Refuse(
                f"the input of an `nn.PReLU` of {count} channels has the shape {list(x.shape)}, which does not fit"
            )
    return Tensor(x.shape, x.dtype)


SPECS: tuple[LayerSpec, ...] = (
    LayerSpec(
        "paddle.nn.PReLU(num_parameters=1, init=0.25, weight_attr=None, data_format='NCHW', name=None)",
        _prelu,
        lambda bound: {"_weight": Weight((bound["num_parameters"],), attr=bound["weight_attr"])},
    ),
    *(
        LayerSpec("paddle.nn." + signature, computes_on_one(registry.OPS["paddle.nn.functional." + function]))
        for signature, function in _FUNCTIONS.items()
    ),
)
