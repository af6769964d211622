"""Normalizations as layers."""

from __future__ import annotations

from runtime.nn.normalization.batch import BatchNorm, BatchNorm1D, BatchNorm2D
from runtime.nn.normalization.example import InstanceNorm1D, InstanceNorm2D, LayerNorm

__all__ = ["BatchNorm", "BatchNorm1D", "BatchNorm2D", "InstanceNorm1D", "InstanceNorm2D", "LayerNorm"]
