"""Convolutions."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from migrate.source.paddle.abstract.values import Layer, Refuse, Value
from migrate.source.paddle.layers.spec import Call, Caller, LayerSpec, Weights, one_float, positive, weight_and_bias
from migrate.source.paddle.ops.spec import Arguments
from migrate.source.paddle.ops.windows import convolved, listed


def _weights(count: int) -> Callable[[Arguments], Weights]:
    def weights(bound: Arguments) -> Weights:
        names = ("in_channels", "out_channels", "groups")
        inputs, outputs, groups = (positive(bound[name], name) for name in names)
        if inputs % groups or outputs % groups:
            raise Refuse(f"{inputs} and {outputs} channels cannot be divided into {groups} groups")
        kernel = listed(bound["kernel_size"], count)
        return weight_and_bias(bound, (outputs, inputs // groups, *kernel), (outputs,))

    return weights


def _conv(count: int) -> Call:
    def call(layer: Layer, positional: list[Value], keywords: Mapping[str, Value], caller: Caller) -> Value:
        x = one_float(layer, positional, keywords)
        return convolved(x, layer.weights["weight"], layer.arguments, count)

    return call


def _spec(count: int, layout: str) -> LayerSpec:
    signature = (
        f"paddle.nn.Conv{count}D(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, "
        f"padding_mode='zeros', weight_attr=None, bias_attr=None, data_format='{layout}')"
    )
    return LayerSpec(signature, _conv(count), _weights(count))


SPECS: tuple[LayerSpec, ...] = (_spec(1, "NCL"), _spec(2, "NCHW"))
