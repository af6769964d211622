"""Poolings: of windows of a fixed size, and of a given number of parts."""

from __future__ import annotations

from runtime.nn.functional.pooling.adaptive import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
)
from runtime.nn.functional.pooling.fixed import avg_pool1d, avg_pool2d, max_pool1d, max_pool2d

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "avg_pool1d",
    "avg_pool2d",
    "max_pool1d",
    "max_pool2d",
]
