"""Normalizations."""

from __future__ import annotations

from migrate.source.paddle.abstract.values import Weight
from migrate.source.paddle.layers.spec import LayerSpec, Weights, positive, same, weight_and_bias
from migrate.source.paddle.ops.spec import Arguments


def _batch(bound: Arguments) -> Weights:
    size = positive(bound.get("num_features") or bound.get("num_channels"), "number of features")
    attr = bound.get("weight_attr") or bound.get("param_attr")
    found = weight_and_bias({**bound, "weight_attr": attr}, (size,), (size,))
    return found | {name: Weight((size,), trainable=False) for name in ("_mean", "_variance")}


def _layer(bound: Arguments) -> Weights:
    shape = bound["normalized_shape"]
    sizes = tuple(positive(size, "shape") for size in (shape if isinstance(shape, list | tuple) else [shape]))
    count = 1
    for size in sizes:
        count *= size
    return weight_and_bias(bound, (count,), (count,))


_BATCH = (
    "momentum=0.9, epsilon=1e-05, weight_attr=None, bias_attr=None, data_format='{}', use_global_stats=None, name=None"
)
SPECS: tuple[LayerSpec, ...] = (
    LayerSpec(
        "paddle.nn.BatchNorm(num_channels, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None, "
        "bias_attr=None, dtype='float32', data_layout='NCHW', in_place=False, moving_mean_name=None, "
        "moving_variance_name=None, do_model_average_for_mean_and_var=True, use_global_stats=False, "
        "trainable_statistics=False)",
        same,
        _batch,
    ),
    LayerSpec(f"paddle.nn.BatchNorm1D(num_features, {_BATCH.format('NCL')})", same, _batch),
    LayerSpec(f"paddle.nn.BatchNorm2D(num_features, {_BATCH.format('NCHW')})", same, _batch),
    LayerSpec(
        "paddle.nn.LayerNorm(normalized_shape, epsilon=1e-05, weight_attr=None, bias_attr=None, name=None)",
        same,
        _layer,
    ),
)
