"""Convolutions and poolings."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from migrate.source.paddle.abstract.values import Layer, Refuse, Tensor, Value
from migrate.source.paddle.layers.spec import Call, LayerSpec, Weights, one_tensor, positive, weight_and_bias
from migrate.source.paddle.ops.spec import Arguments
from migrate.source.paddle.ops.windows import listed, spatial


def _weights(count: int) -> Callable[[Arguments], Weights]:
    def weights(bound: Arguments) -> Weights:
        inputs, outputs = (positive(bound[name], name) for name in ("in_channels", "out_channels"))
        kernel = listed(bound["kernel_size"], count)
        return weight_and_bias(bound, (outputs, inputs // bound["groups"], *kernel), (outputs,))

    return weights


def _conv(count: int) -> Call:
    def call(layer: Layer, positional: list[Value], keywords: Mapping[str, Value]) -> Value:
        x, bound = one_tensor(layer, positional, keywords), layer.arguments
        if x.shape is None:
            return Tensor(None, x.dtype)
        if len(x.shape) != count + 2:
            raise Refuse(f"the input of this layer has {len(x.shape)} dimensions, and it takes {count + 2}")
        last = str(bound["data_format"]).endswith("C")
        sizes = spatial(list(x.shape[1:-1] if last else x.shape[2:]), bound)
        outputs = bound["out_channels"]
        return Tensor((x.shape[0], *sizes, outputs) if last else (x.shape[0], outputs, *sizes), x.dtype)

    return call


def _pool(count: int) -> Call:
    def call(layer: Layer, positional: list[Value], keywords: Mapping[str, Value]) -> Value:
        x, bound = one_tensor(layer, positional, keywords), layer.arguments
        if x.shape is None:
            return Tensor(None, x.dtype)
        return Tensor((*x.shape[:2], *spatial(list(x.shape[2:]), bound, bool(bound["ceil_mode"]))), x.dtype)

    return call


def _adaptive(count: int) -> Call:
    def call(layer: Layer, positional: list[Value], keywords: Mapping[str, Value]) -> Value:
        x = one_tensor(layer, positional, keywords)
        sizes = listed(layer.arguments["output_size"], count)
        return Tensor(None if x.shape is None else (*x.shape[:2], *sizes), x.dtype)

    return call


def _conv_spec(count: int, layout: str) -> LayerSpec:
    signature = (
        f"paddle.nn.Conv{count}D(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, "
        f"padding_mode='zeros', weight_attr=None, bias_attr=None, data_format='{layout}')"
    )
    return LayerSpec(signature, _conv(count), _weights(count))


SPECS: tuple[LayerSpec, ...] = (
    _conv_spec(1, "NCL"),
    _conv_spec(2, "NCHW"),
    LayerSpec(
        "paddle.nn.MaxPool1D(kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, name=None)",
        _pool(1),
    ),
    LayerSpec(
        "paddle.nn.MaxPool2D(kernel_size, stride=None, padding=0, return_mask=False, ceil_mode=False, "
        "data_format='NCHW', name=None)",
        _pool(2),
    ),
    LayerSpec(
        "paddle.nn.AvgPool1D(kernel_size, stride=None, padding=0, exclusive=True, ceil_mode=False, name=None)",
        _pool(1),
    ),
    LayerSpec(
        "paddle.nn.AvgPool2D(kernel_size, stride=None, padding=0, ceil_mode=False, exclusive=True, "
        "divisor_override=None, data_format='NCHW', name=None)",
        _pool(2),
    ),
    LayerSpec("paddle.nn.AdaptiveMaxPool1D(output_size, return_mask=False, name=None)", _adaptive(1)),
    LayerSpec("paddle.nn.AdaptiveAvgPool1D(output_size, name=None)", _adaptive(1)),
    LayerSpec("paddle.nn.AdaptiveAvgPool2D(output_size, data_format='NCHW', name=None)", _adaptive(2)),
    LayerSpec("paddle.nn.AdaptiveMaxPool2D(output_size, return_mask=False, name=None)", _adaptive(2)),
)
