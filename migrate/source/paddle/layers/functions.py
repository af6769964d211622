"""Layers that compute what a function of Paddle does: activations, poolings, losses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from migrate.source.paddle.abstract.values import Layer, Refuse, Tensor, Value, Weight
from migrate.source.paddle.layers.spec import Caller, LayerSpec, computes, computes_on_one, one_float
from migrate.source.paddle.ops import registry
from migrate.source.paddle.ops.spec import Op

_F = "paddle.nn.functional."
#: Layer -> function of one input; other arguments are those of the function.
_OF_ONE = {
    **{"ReLU": "relu", "ReLU6": "relu6", "Sigmoid": "sigmoid", "LogSigmoid": "log_sigmoid", "Tanh": "tanh"},
    **{"Silu": "silu", "Swish": "swish", "Softsign": "softsign", "ELU": "elu", "GELU": "gelu", "SELU": "selu"},
    **{"LeakyReLU": "leaky_relu", "Softplus": "softplus", "Softmax": "softmax", "LogSoftmax": "log_softmax"},
    **{"Tanhshrink": "tanhshrink", "Hardsigmoid": "hardsigmoid", "Hardswish": "hardswish", "Mish": "mish"},
    **{"CELU": "celu", "Hardtanh": "hardtanh", "Hardshrink": "hardshrink", "Softshrink": "softshrink"},
    **{"ThresholdedReLU": "thresholded_relu", "GLU": "glu", "MaxPool1D": "max_pool1d", "MaxPool2D": "max_pool2d"},
    **{"AvgPool1D": "avg_pool1d", "AvgPool2D": "avg_pool2d", "AdaptiveMaxPool1D": "adaptive_max_pool1d"},
    **{"AdaptiveMaxPool2D": "adaptive_max_pool2d", "AdaptiveAvgPool1D": "adaptive_avg_pool1d"},
    "AdaptiveAvgPool2D": "adaptive_avg_pool2d",
}
#: Layer -> function of several inputs.
_OF_SEVERAL = {
    **{"CosineSimilarity": "cosine_similarity", "MSELoss": "mse_loss", "L1Loss": "l1_loss"},
    **{"SmoothL1Loss": "smooth_l1_loss", "BCELoss": "binary_cross_entropy", "CrossEntropyLoss": "cross_entropy"},
    **{"BCEWithLogitsLoss": "binary_cross_entropy_with_logits", "NLLLoss": "nll_loss", "KLDivLoss": "kl_div"},
    "MarginRankingLoss": "margin_ranking_loss",
}
#: Layers that do not have all of these arguments.
_FEWER = {
    **dict.fromkeys(("Softmax", "LogSoftmax"), "axis=-1, name=None"),
    **dict.fromkeys(("MSELoss", "KLDivLoss"), "reduction='mean'"),
    "Hardsigmoid": "name=None",
}


def _signature(layer: str, op: Op, inputs: int) -> str:
    """Return the constructor's signature: the function's without its inputs."""
    arguments = op.paddle.partition("(")[2].removesuffix(")").split(", ")[inputs:]
    return f"paddle.nn.{layer}({_FEWER.get(layer, ', '.join(arguments))})"


def _specs() -> Iterator[LayerSpec]:
    for layer, name in _OF_ONE.items():
        op = registry.OPS[_F + name]
        yield LayerSpec(_signature(layer, op, 1), computes_on_one(op))
    for layer, name in _OF_SEVERAL.items():
        op = registry.OPS[_F + name]
        yield LayerSpec(_signature(layer, op, 3 if layer == "MarginRankingLoss" else 2), computes(op))


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
    LayerSpec("paddle.nn.Flatten(start_axis=1, stop_axis=-1)", computes_on_one(registry.OPS["paddle.flatten"])),
    *_specs(),
)
