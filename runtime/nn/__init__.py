"""Layers with Paddle's names and meaning on TensorFlow v1 graphs, whose embeddings are tables that grow.

Converted Paddle models import it: `nn.Linear`, `nn.Embedding`, `nn.functional` and so on compute what Paddle computes,
tensors keep Paddle's layout, and weights have Paddle's shapes.
"""

from __future__ import annotations

from runtime.nn.creation import parameter as create_parameter
from runtime.nn.layer import Layer
from runtime.nn.parameter import ParamAttr, Parameter

__all__ = ["Layer", "ParamAttr", "Parameter", "create_parameter"]
