"""Functions with Paddle's names and meaning on TensorFlow v1 graphs."""

from __future__ import annotations

from runtime.nn.functional.convolution import conv1d, conv2d
from runtime.nn.functional.normalization import batch_norm, instance_norm, layer_norm
from runtime.nn.functional.pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    avg_pool1d,
    avg_pool2d,
    max_pool1d,
    max_pool2d,
)

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "avg_pool1d",
    "avg_pool2d",
    "batch_norm",
    "conv1d",
    "conv2d",
    "instance_norm",
    "layer_norm",
    "max_pool1d",
    "max_pool2d",
]
