"""Normalizations."""

from __future__ import annotations

import math
from collections.abc import Mapping

from migrate.source.paddle.abstract.values import Layer, Refuse, Tensor, Value, Weight
from migrate.source.paddle.layers.spec import Call, Caller, LayerSpec, Weights, one_float, positive, weight_and_bias
from migrate.source.paddle.ops.activation import over_last
from migrate.source.paddle.ops.spec import Arguments


def _running(size: int) -> Weights:
    return {name: Weight((size,), trainable=False) for name in ("_mean", "_variance")}


def _batch(bound: Arguments) -> Weights:
    size = positive(bound["num_features"], "num_features")
    return weight_and_bias(bound, (size,), (size,)) | _running(size)


def _old_batch(bound: Arguments) -> Weights:
    size = positive(bound["num_channels"], "num_channels")
    attrs = {"weight_attr": bound["param_attr"], "bias_attr": bound["bias_attr"]}
    return weight_and_bias(attrs, (size,), (size,)) | _running(size)


def _instance(bound: Arguments) -> Weights:
    size = positive(bound["num_features"], "num_features")
    if bound["weight_attr"] is False or bound["bias_attr"] is False:
        if bound["weight_attr"] is not bound["bias_attr"]:
            raise Refuse("`weight_attr` and `bias_attr` of this layer must both be False, or none of them")
        return {}
    return {name: Weight((size,), attr=bound[f"{attr}_attr"]) for name, attr in (("scale", "weight"), ("bias", "bias"))}


def _sizes(bound: Arguments) -> list[int]:
    shape = bound["normalized_shape"]
    return [positive(size, "normalized_shape") for size in (shape if isinstance(shape, (list, tuple)) else [shape])]


def _layer(bound: Arguments) -> Weights:
    count = math.prod(_sizes(bound))
    return weight_and_bias(bound, (count,), (count,))


def _by_channel(size: str, layout: str, *ranks: int) -> Call:
    """The result is like the input, whose rank and number of channels are checked."""

    def call(layer: Layer, positional: list[Value], keywords: Mapping[str, Value], caller: Caller) -> Value:
        x, channels = one_float(layer, positional, keywords), layer.arguments[size]
        if x.shape is None:
            return Tensor(None, x.dtype)
        place = 1 if str(layer.arguments[layout])[1] == "C" else len(x.shape) - 1
        if len(x.shape) not in ranks or x.shape[place] not in (None, channels):
            raise Refuse(
                f"the input of `{layer.name}` of {channels} channels has the shape {list(x.shape)}, which does not fit"
            )
        return Tensor(x.shape, x.dtype)

    return call


def _over_last(layer: Layer, positional: list[Value], keywords: Mapping[str, Value], caller: Caller) -> Value:
    return over_last({"x": one_float(layer, positional, keywords), **layer.arguments})


_BATCH = (
    "momentum=0.9, epsilon=1e-05, weight_attr=None, bias_attr=None, data_format='{}', use_global_stats=None, name=None"
)
_INSTANCE = "epsilon=1e-05, momentum=0.9, weight_attr=None, bias_attr=None, data_format='{}', name=None"
LAYER_NORM = LayerSpec(
    "paddle.nn.LayerNorm(normalized_shape, epsilon=1e-05, weight_attr=None, bias_attr=None, name=None)",
    _over_last,
    _layer,
)
SPECS: tuple[LayerSpec, ...] = (
    LayerSpec(
        "paddle.nn.BatchNorm(num_channels, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None, "
        "bias_attr=None, dtype='float32', data_layout='NCHW', in_place=False, moving_mean_name=None, "
        "moving_variance_name=None, do_model_average_for_mean_and_var=True, use_global_stats=False, "
        "trainable_statistics=False)",
        _by_channel("num_channels", "data_layout", 2, 3, 4, 5),
        _old_batch,
    ),
    LayerSpec(
        f"paddle.nn.BatchNorm1D(num_features, {_BATCH.format('NCL')})",
        _by_channel("num_features", "data_format", 2, 3),
        _batch,
    ),
    LayerSpec(
        f"paddle.nn.BatchNorm2D(num_features, {_BATCH.format('NCHW')})",
        _by_channel("num_features", "data_format", 4),
        _batch,
    ),
    LayerSpec(
        f"paddle.nn.InstanceNorm1D(num_features, {_INSTANCE.format('NCL')})",
        _by_channel("num_features", "data_format", 2, 3),
        _instance,
    ),
    LayerSpec(
        f"paddle.nn.InstanceNorm2D(num_features, {_INSTANCE.format('NCHW')})",
        _by_channel("num_features", "data_format", 4),
        _instance,
    ),
    LAYER_NORM,
)
