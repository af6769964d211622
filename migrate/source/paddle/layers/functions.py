"""Layers that compute what a function of Paddle does: activations, poolings, losses."""

from __future__ import annotations

from collections.abc import Mapping

from migrate.source.paddle.abstract.values import Layer, Refuse, Tensor, Value, Weight
from migrate.source.paddle.layers.spec import Caller, LayerSpec, computes, computes_on_one, one_float
from migrate.source.paddle.ops import registry

_F = "paddle.nn.functional."
_WINDOW = "kernel_size, stride=None, padding=0"
_END = "reduction='mean', name=None"
#: Constructor -> function, of one input.
_OF_ONE = {
    "ReLU(name=None)": "relu",
    "ReLU6(name=None)": "relu6",
    "Sigmoid(name=None)": "sigmoid",
    "LogSigmoid(name=None)": "log_sigmoid",
    "Tanh(name=None)": "tanh",
    "Silu(name=None)": "silu",
    "Swish(name=None)": "swish",
    "Softsign(name=None)": "softsign",
    "ELU(alpha=1.0, name=None)": "elu",
    "GELU(approximate=False, name=None)": "gelu",
    "SELU(scale=1.0507009873554804934193349852946, alpha=1.6732632423543772848170429916717, name=None)": "selu",
    "LeakyReLU(negative_slope=0.01, name=None)": "leaky_relu",
    "Softplus(beta=1, threshold=20, name=None)": "softplus",
    "Softmax(axis=-1, name=None)": "softmax",
    "LogSoftmax(axis=-1, name=None)": "log_softmax",
    "Tanhshrink(name=None)": "tanhshrink",
    "Hardsigmoid(name=None)": "hardsigmoid",
    "Hardswish(name=None)": "hardswish",
    "Mish(name=None)": "mish",
    "CELU(alpha=1.0, name=None)": "celu",
    "Hardtanh(min=-1.0, max=1.0, name=None)": "hardtanh",
    "Hardshrink(threshold=0.5, name=None)": "hardshrink",
    "Softshrink(threshold=0.5, name=None)": "softshrink",
    "ThresholdedReLU(threshold=1.0, name=None)": "thresholded_relu",
    "GLU(axis=-1, name=None)": "glu",
    f"MaxPool1D({_WINDOW}, return_mask=False, ceil_mode=False, name=None)": "max_pool1d",
    f"MaxPool2D({_WINDOW}, return_mask=False, ceil_mode=False, data_format='NCHW', name=None)": "max_pool2d",
    f"AvgPool1D({_WINDOW}, exclusive=True, ceil_mode=False, name=None)": "avg_pool1d",
    f"AvgPool2D({_WINDOW}, ceil_mode=False, exclusive=True, divisor_override=None, data_format='NCHW', "
    "name=None)": "avg_pool2d",
    "AdaptiveMaxPool1D(output_size, return_mask=False, name=None)": "adaptive_max_pool1d",
    "AdaptiveMaxPool2D(output_size, return_mask=False, name=None)": "adaptive_max_pool2d",
    "AdaptiveAvgPool1D(output_size, name=None)": "adaptive_avg_pool1d",
    "AdaptiveAvgPool2D(output_size, data_format='NCHW', name=None)": "adaptive_avg_pool2d",
}
#: Constructor -> function, of several inputs.
_OF_SEVERAL = {
    "CosineSimilarity(axis=1, eps=1e-08)": "cosine_similarity",
    "MSELoss(reduction='mean')": "mse_loss",
    f"L1Loss({_END})": "l1_loss",
    "SmoothL1Loss(reduction='mean', delta=1.0, name=None)": "smooth_l1_loss",
    f"BCELoss(weight=None, {_END})": "binary_cross_entropy",
    "BCEWithLogitsLoss(weight=None, reduction='mean', pos_weight=None, name=None)": "binary_cross_entropy_with_logits",
    "CrossEntropyLoss(weight=None, ignore_index=-100, reduction='mean', soft_label=False, axis=-1, use_softmax=True, "
    "label_smoothing=0.0, name=None)": "cross_entropy",
    f"NLLLoss(weight=None, ignore_index=-100, {_END})": "nll_loss",
    "KLDivLoss(reduction='mean')": "kl_div",
    f"MarginRankingLoss(margin=0.0, {_END})": "margin_ranking_loss",
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
    LayerSpec("paddle.nn.Flatten(start_axis=1, stop_axis=-1)", computes_on_one(registry.OPS["paddle.flatten"])),
    *(LayerSpec(f"paddle.nn.{one}", computes_on_one(registry.OPS[_F + name])) for one, name in _OF_ONE.items()),
    *(LayerSpec(f"paddle.nn.{one}", computes(registry.OPS[_F + name])) for one, name in _OF_SEVERAL.items()),
)
