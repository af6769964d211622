"""Poolings as layers: they compute what the function does."""

from __future__ import annotations

from migrate.source.paddle.layers.spec import LayerSpec, computes_on_one
from migrate.source.paddle.ops import registry

_WINDOW = "kernel_size, stride=None, padding=0"
#: Constructor -> function of `paddle.nn.functional`.
_FUNCTIONS = {
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
SPECS: tuple[LayerSpec, ...] = tuple(
    LayerSpec("paddle.nn." + signature, computes_on_one(registry.OPS["paddle.nn.functional." + function]))
    for signature, function in _FUNCTIONS.items()
)
